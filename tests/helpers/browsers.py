"""Pages in headless Chromium: opened at a width, measured in the DOM, printed."""

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

WIDTHS = (375, 768, 1280, 1600)

FIND_FAULTS = """
const faults = [];
const isSeen = (e) => e.checkVisibility() && !e.closest(".unseen, .skip");
const say = (e) => `${e.tagName} ${e.getAttribute("class")} ${e.textContent.trim().slice(0, 40)}`;
for (const figure of document.querySelectorAll("figure:not([hidden])")) {
  const marks = figure.querySelectorAll("g.role-mark > :is(path, text, line)");
  const svg = figure.querySelector("svg");
  if (marks.length < 2) faults.push(`not drawn: ${say(figure)}`);
  const plot = figure.querySelector(".plot");
  if (plot.getAttribute("role") !== "img" || !plot.ariaLabel) faults.push(`no text: ${figure.id}`);
  const box = svg?.getBoundingClientRect();
  for (const text of svg?.querySelectorAll(".role-axis text, .role-legend text") ?? []) {
    const own = text.getBoundingClientRect();
    if (!text.textContent || getComputedStyle(text).opacity === "0") continue;
    if (own.left < box.left - 2 || own.right > box.right + 2 || own.top < box.top - 2
      || own.bottom > box.bottom + 2) faults.push(`cut: ${figure.id} ${text.textContent}`);
  }
}
for (const e of document.querySelectorAll("body, body *:not(svg *)")) {
  if (!isSeen(e) || e.clientWidth === 0 || getComputedStyle(e).display === "inline") continue;
  const hasCue = e.matches(".scroll, .chart") && e.parentElement.dataset.more && e.tabIndex === 0;
  if (e.scrollWidth > e.clientWidth + 1 && !hasCue) {
    faults.push(`wider than its box: ${say(e)}, ${e.scrollWidth} in ${e.clientWidth}`);
  }
}
// turned labels: the corners of letters, not the upright boxes around them, must not meet
const corners = (text) => {
  const { x, y, width, height } = text.getBBox();
  const m = text.getScreenCTM();
  return [[x, y], [x + width, y], [x + width, y + height], [x, y + height]]
    .map(([a, b]) => [m.a * a + m.c * b + m.e, m.b * a + m.d * b + m.f]);
};
const areApart = (p, q) => [[p, q], [q, p]].some(([one, other]) => one.some(([x, y], i) => {
  const [u, v] = one[(i + 1) % 4];
  const side = ([a, b]) => (u - x) * (b - y) - (v - y) * (a - x);
  const length = Math.hypot(u - x, v - y) || 1;
  return other.every((corner) => side(corner) / length <= 1);
}));
for (const axis of document.querySelectorAll(".role-axis-label, .role-legend-label")) {
  const texts = [...axis.querySelectorAll("text")]
    .filter((t) => t.textContent && getComputedStyle(t).opacity !== "0");
  const boxes = texts.map(corners);
  boxes.forEach((p, i) => boxes.slice(0, i).forEach((q, j) => {
    if (!areApart(p, q)) {
      const place = axis.closest("figure").id;
      faults.push(`labels meet: ${place} ${texts[j].textContent} | ${texts[i].textContent}`);
    }
  }));
}
return faults;
"""


def find_missing() -> str:
    """What is missing to drive a browser; empty for nothing."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    ready = found and shutil.which("chromedriver") and find_spec("selenium")
    return "" if ready else "needs Chromium, chromedriver and selenium"


def start_browser(folder: Path) -> Any:
    """Headless Chromium that keeps its profile in the folder, and what the console says."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in (
        "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync",
        "disable-background-networking", "disable-component-update", "disable-dev-shm-usage",
        f"user-data-dir={folder}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


def show(browser: Any, page: Path, width: int, *, dark: bool = False) -> None:
    """Open a page at a width, and wait until its charts are drawn."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    look = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": look})
    browser.get(page.as_uri())
    wait(browser, "document.documentElement.dataset.ready")


def wait(browser: Any, condition: str) -> None:
    """Wait until an expression holds in the page."""
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(browser, 300).until(lambda b: b.execute_script(f"return {condition}"))


def find_faults(browser: Any) -> list[str]:
    """Say what is wrong with the page that is open: in its layout, its charts, its console."""
    loaded = "return performance.getEntriesByType('resource').map(r => r.name)"
    fetched = [name for name in browser.execute_script(loaded) if not name.startswith("data:")]
    return [
        *browser.execute_script(FIND_FAULTS),
        *(f"fetched: {name}" for name in fetched),
        *(f"console: {entry['message']}" for entry in browser.get_log("browser")),
    ]
