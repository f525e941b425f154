"""Settings of preprocessing as timm has them, and as transformers 4.2x wrote them."""

MEANS = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
TIMM = {"input_size": (3, 32, 32), "interpolation": "bicubic", "crop_pct": 0.875, **MEANS}
OLD_CLIP = {
    "crop_size": 24,
    "do_center_crop": True,
    "do_normalize": True,
    "do_resize": True,
    "feature_extractor_type": "CLIPFeatureExtractor",
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "resample": 3,
    "size": 24,
}
