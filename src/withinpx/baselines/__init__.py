"""Other detectors on the same images: the SAM family, anything with COCO results, OpenCV; and the paper's protocol."""
