"""Data sets of images with many annotated objects: COCO, LVIS, nuScenes, Cityscapes."""
