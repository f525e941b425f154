"""The settings of the published studies of image classification, one file each."""
