# vaultmem in a container: the vault is a volume, nobody is root.
#   docker build -t vaultmem .
#   docker run -i --rm -v ~/Brain:/vault vaultmem                   # stdio, for a client
# Over HTTP, see docs/clients.md.
FROM python:3.13-slim AS build
WORKDIR /src
RUN python -m venv /opt/vaultmem
COPY scripts/locked/run.txt scripts/locked/run.txt
RUN /opt/vaultmem/bin/pip install --no-cache-dir --require-hashes --no-deps -r scripts/locked/run.txt
COPY pyproject.toml README.md LICENSE ./
COPY vaultmem vaultmem
COPY vault-template vault-template
RUN /opt/vaultmem/bin/pip install --no-cache-dir --no-deps .

FROM python:3.13-slim
RUN useradd --uid 10001 --create-home vaultmem && install -d -o vaultmem -g vaultmem /vault
COPY --from=build /opt/vaultmem /opt/vaultmem
ENV PATH=/opt/vaultmem/bin:$PATH VAULTMEM_VAULT=/vault
USER 10001
WORKDIR /vault
VOLUME /vault
EXPOSE 8765
ENTRYPOINT ["vaultmem"]
CMD ["serve"]
