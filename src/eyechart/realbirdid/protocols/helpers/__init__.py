"""What several protocols of RealBirdID need: options, requests, probabilities of names, and mapping texts to names."""
