"""A headless Chromium of the system, and how well what it shows can be read."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def chromium() -> Iterator[Any]:
    """Start it, and end it."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("there is no Chromium on this machine: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        alone = ["--no-sandbox"] if os.geteuid() == 0 else []  # root has no sandbox
        found = playwright.chromium.launch(executable_path=path, args=alone)
        yield found
        found.close()


# The least contrast of any text on the page with what is behind it, as WCAG 2 reckons it.
CONTRAST = """() => {
  const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = (rgb) => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => sum + w * channel(rgb[i]), 0);
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const found = numbers(getComputedStyle(node).backgroundColor);
      if (found.length === 3) return found;
    }
    return [255, 255, 255];
  };
  const texts = [...document.body.querySelectorAll("*")].filter((node) => node.offsetParent && !node.disabled &&
    [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()));
  return Math.min(...texts.map((node) => {
    const [one, other] = [light(numbers(getComputedStyle(node).color)), light(behind(node))].sort((a, b) => b - a);
    return (one + 0.05) / (other + 0.05);
  }));
}"""
