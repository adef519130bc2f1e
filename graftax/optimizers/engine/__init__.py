"""What every optimizer does around its rule."""
