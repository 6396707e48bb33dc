"""Run the steps of docs/pipeline/robustness.yml: train, evaluate, check and test.

``python .ci/pipeline.py`` builds the wheel and installs it into a new virtual environment;
``python .ci/pipeline.py ENVIRONMENT`` uses one in which shaketable and pytest are installed.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PIPELINE = ROOT / "docs" / "pipeline"


def read_steps(text: str) -> dict[str, str]:
    """Return the commands of the steps that have a name, by name."""
    steps = re.findall(r"- name: (.*)\n +run: (?:\|\n((?: {10}.*\n)+)|(.*)\n)", text)
    return {name: textwrap.dedent(block) or line for name, block, line in steps}


def make_environment(folder: Path) -> Path:
    """Install the wheel of the source, and pytest, into a new virtual environment."""
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [environment / "bin" / "pip", "install", "-q", "--disable-pip-version-check"]
    wheels = folder / "wheels"
    command = [environment / "bin" / "pip", "wheel", "-q", "--no-deps", "-w", wheels, ROOT]
    subprocess.run(command, check=True)
    subprocess.run([*pip, *wheels.glob("*.whl"), "pytest"], check=True)
    return environment


def run_steps(environment: Path, folder: Path) -> None:
    """Run the steps in an empty folder, as a pipeline does, and look at what they leave."""
    for path in PIPELINE.iterdir():
        if path.is_file():
            shutil.copy(path, folder)
    summary = folder / "summary"
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST"))}
    variables |= {
        "PATH": f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    steps = read_steps((PIPELINE / "robustness.yml").read_text(encoding="utf-8"))
    assert list(steps) == ["Install", "Train", "Evaluate", "Check", "Test"], list(steps)
    for name, command in steps.items():
        if name != "Install":  # the wheel is installed already
            print(f"+ {name}", flush=True)
            subprocess.run(
                ["bash", "-ec", command], check=True, cwd=folder, env=variables, timeout=300
            )
    cases = list(ElementTree.parse(folder / "requirements.xml").iter("testcase"))
    assert len(cases) == 3, cases
    assert "met: 3 of 3 requirements met" in summary.read_text(encoding="utf-8")
    strict = folder / "requirements.toml"
    strict.write_text(strict.read_text().replace("accuracy >= 90", "accuracy >= 99.9"))
    last = subprocess.run(["bash", "-ec", steps["Check"]], check=False, cwd=folder, env=variables)
    code = last.returncode
    assert code == 1, f"a requirement that is not met must end the pipeline, got exit code {code}"
    print("all steps did what they should")


def main() -> None:
    """Run the steps in the environment that is named, or in a new one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = Path(sys.argv[1]) if len(sys.argv) > 1 else make_environment(folder)
        work = folder / "work"
        work.mkdir()
        run_steps(environment.absolute(), work)


if __name__ == "__main__":
    main()
