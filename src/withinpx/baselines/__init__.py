"""Other detectors on the same images (the SAM family, COCO results, OpenCV), evaluated by the paper's protocol."""
