# gridc on a CPU, with everything that `pip install 'gridc[all]'` brings: docker build -t gridc .
# A study lies in the folder that is mounted: docker run --rm -v "$PWD:/study" gridc run
FROM python:3.11-slim

COPY constraints.txt /tmp/constraints.txt
ENV PIP_CONSTRAINT=/tmp/constraints.txt PIP_NO_CACHE_DIR=1
RUN pip install torch==2.13.0 --index-url https://download.pytorch.org/whl/cpu

COPY . /tmp/gridc
RUN pip install '/tmp/gridc[all]' && rm -r /tmp/gridc

RUN useradd --create-home evaluator
USER evaluator
WORKDIR /study
ENTRYPOINT ["gridc"]
CMD ["--help"]
