# whyodd serve in a container.
#
#   docker build -t whyodd .
#   docker run --rm -p 127.0.0.1:8765:8765 -e WHYODD_PASSWORD -v whyodd:/kept whyodd
#
# The server listens on all addresses of the container, so it asks for a password of at least 12 characters. There is no
# TLS: publish the port on this machine only, as above, or put a proxy in front of it.

FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
# The environment is copied as a whole; pip and the sources stay behind.
RUN python -m venv /whyodd \
    && /whyodd/bin/pip install --no-cache-dir --disable-pip-version-check '.[serve,files,report,saving]'

FROM python:3.13-slim
RUN useradd --system --uid 10001 --create-home --home-dir /home/whyodd --shell /usr/sbin/nologin whyodd \
    && install -d -o whyodd -g whyodd /kept
COPY --from=build /whyodd /whyodd
# numba keeps what it compiles where the user may write.
ENV PATH=/whyodd/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    NUMBA_CACHE_DIR=/home/whyodd/.cache/numba
USER whyodd
WORKDIR /home/whyodd
VOLUME /kept
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import socket; socket.create_connection(('127.0.0.1', 8765), 3).close()"]
ENTRYPOINT ["whyodd", "serve"]
CMD ["--host", "0.0.0.0", "--port", "8765", "--folder", "/kept", "--no-open"]
