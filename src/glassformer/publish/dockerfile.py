"""A Dockerfile beside a published model, which serves it without PyTorch."""

from __future__ import annotations

from pathlib import Path

from ..directory import write_text

DOCKERFILE, IGNORED = "Dockerfile", ".dockerignore"
TEXT = """\
# Serves this model without PyTorch: docker build -t {name} . && docker run -p 5000:5000 {name}
# A wheel of your own, put into this folder: --build-arg GLASSFORMER="/model/NAME.whl[serve]"
FROM python:3.12-slim
ARG GLASSFORMER="glassformer[serve]"
COPY . /model
RUN pip install --no-cache-dir "$GLASSFORMER" \\
    && useradd --create-home --uid 10001 server
USER server
ENV PYTHONUNBUFFERED=1
EXPOSE 5000
HEALTHCHECK --start-period=30s CMD ["python", "-c", \\
    "import urllib.request; urllib.request.urlopen('http://localhost:5000/health', timeout=5)"]
CMD ["glassformer", "serve", "/model", "--host", "0.0.0.0", "--port", "5000"]
"""


def write_dockerfile(folder: Path, name: str) -> None:
    """Write a Dockerfile to the folder of a model that is called `name`."""
    write_text(folder / DOCKERFILE, TEXT.format(name=name))
    write_text(folder / IGNORED, f"{DOCKERFILE}\n{IGNORED}\nREADME.md\n")
