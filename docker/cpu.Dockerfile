# Evaluates models on processors. docs/installation.md has the commands.
FROM python:3.12.11-slim-bookworm

# The container runs as the owner of the mounted folder: every user can write to HF_HOME and MPLCONFIGDIR.
ENV HF_HOME=/work/.eyechart/huggingface \
    MPLCONFIGDIR=/tmp/matplotlib \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_ROOT_USER_ACTION=ignore \
    UV_LINK_MODE=copy \
    UV_SYSTEM_PYTHON=1

RUN pip install uv==0.13.9

WORKDIR /source

# The requirements are a layer of their own, which is made again only when pyproject.toml changes.
COPY pyproject.toml ./
RUN --mount=type=cache,target=/root/.cache/uv \
    uv pip install --torch-backend=cpu --requirements pyproject.toml \
    --extra models --extra hub --extra figures --extra openai --extra anthropic --extra gemini

COPY LICENSE README.md THIRD_PARTY.md setup.py ./
COPY benchmarks benchmarks
COPY fixtures fixtures
COPY plugins plugins
COPY src src
RUN --mount=type=cache,target=/root/.cache/uv \
    uv pip install --no-deps .

RUN useradd --create-home --uid 1000 eyechart && install --directory --owner eyechart /work
USER 1000
WORKDIR /work
ENTRYPOINT ["eyechart"]
CMD ["--help"]
