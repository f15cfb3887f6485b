# The proxy in front of a remote MCP server, over HTTP:
#   docker build -t shaping .
#   docker run -p 127.0.0.1:8080:8080 -e SHAPING_PROXY_URL=https://example.com/mcp shaping
# Any other command of shaping is given instead: docker run --rm -i shaping shape < answer.json
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY shaping shaping
COPY profiles profiles
COPY config config
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin shaping
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/shaping-*.whl)[mcp,http]" && rm -r /wheels
USER 10001
WORKDIR /home/shaping
ENV PYTHONUNBUFFERED=1
EXPOSE 8080
# The proxy's own sums; the address is loopback, which its host check always accepts.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8080/metrics', timeout=4)"]
ENTRYPOINT ["shaping"]
CMD ["proxy", "--http", "0.0.0.0:8080", "--url", "env:SHAPING_PROXY_URL"]
