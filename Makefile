# Targets print their help from the text behind ##. Times are those of two quiet cores.
GOLANGCI_LINT = v2.15.0
BUF = v1.75.0
PROTOC_GEN_GO = v1.36.12
PROTOC_GEN_GO_GRPC = v1.6.2
PROTOC_GEN_GO_VTPROTO = v0.6.1-0.20250313105119-ba97887b0a25
NFPM = v2.48.0
CYCLONEDX = v1.10.0
PERF = v0.0.0-20260709024250-82a0b07e230d

# Tools are kept by version outside the tree, where every checkout finds them.
TOOLS = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/condor-backfill
# A linter reads the code of no newer Go than it was built with.
LINT = $(TOOLS)/golangci-lint-$(GOLANGCI_LINT)-$(shell go env GOVERSION)
PROTO = $(TOOLS)/proto-$(BUF)-$(PROTOC_GEN_GO)-$(PROTOC_GEN_GO_GRPC)-$(PROTOC_GEN_GO_VTPROTO)
# What packs releases also gets into their bytes.
PACK = $(TOOLS)/pack-$(NFPM)-$(CYCLONEDX)-$(shell go env GOVERSION)
BENCHSTAT = $(TOOLS)/benchstat-$(PERF)-$(shell go env GOVERSION)

# TEST runs tests: go test, or bin/retry-tests, which tries once more what failed.
TEST ?= go test
FUZZTIME ?= 10s
PKG ?= ./negotiator/... ./plugins/...
SEED ?= 1
REF ?= HEAD
RUNS ?= .
BENCH ?= .
PKGS ?= ./classad/... ./backfill/... ./plugins/... ./negotiator ./condorsim
DIST ?= dist
export GOFLAGS := $(GOFLAGS) -buildvcs=false

.PHONY: help build test race pool slowest lint fmt fuzz stress soak bench identical proto baseline tools pack release twice ci

help: ## which target answers which question, and how long it takes
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## does it compile? every binary, into bin/ (a minute the first time, then seconds)
	go build -o bin/ ./...

test: ## does it work? all tests, as in the README (four minutes the first time, then one)
	$(TEST) ./... -timeout 20m

# What is left out computes the same again in one goroutine, has a pool of fakes go on for hours that do
# nothing new at once, or starts many processes: make soak has all under the detector. By default each
# process ends a second late there.
RACE_SKIP = Agree|AnyWorld|HeedEnds|BelowTheQuota|AnyLeft|Adversaries|DamageNeverPanics|WhatWasLearned$\
	|Lies|OneOdd|NeverRun|PutOffForEver|AmongLeases|CeilingOfLent|Flips|StuckUsers|BesideArray|WhatIsLeft$\
	|ShareOfLimits|BeyondALimit|BeyondLimits|HoardedLimit|LimitsOfEach|AtTheQuota|ExcusesItself$\
	|MonthOf|ContentUsers|PastIsBounded|IgnoringPriorities|ReferToTooMuch|SlotsAreBounded$\
	|ReadingIsCharged|ReadingSlotsIsCharged|OldestGoes|EveryByte|EveryLength|EveryPage|RefusalsLetRest$\
	|InventedSubmitters|HugeJobs|NoLimitIsExceeded|EachJobIsToldOnce|SharedLimit|NotAskedFor|MustNotDepend$\
	|ItsSlotSays|ManyBadSlots|NoCpusAreNotFree
race: export GORACE = atexit_sleep_ms=20
race: ## is memory shared safely? the tests of what is concurrent, under the race detector (2 minutes)
	$(TEST) ./plugins/host ./plugins/sdk ./plugins/choose ./plugins/wire ./negotiator/record ./negotiator/htcondor/... -timeout 20m -race -skip '$(RACE_SKIP)'
	$(TEST) ./negotiator/cmd/negotiator -race -run 'Swap|Reload|Reconfigure|Killed|GivenUp|Interrupt|Web'
	$(TEST) ./backfill ./classad -race -run 'WhileTheOriginalGoesOn|Outlive|Goroutines|Concurrently'
	$(TEST) ./negotiator/livepage/... ./negotiator/meter ./condorsim/rehearsal -race -run 'Pace$$|Watch|Viewers$$|Once$$|BesideCycles|Seats|PageOfARun|DuringACycle'
	RAPID_CHECKS=5 $(TEST) ./condorsim -race -run 'FairStarts$$'

# The scenarios that every change has to pass; make soak runs all of them.
POOL = TestPool|TestThePage|TestWhoMayLook|TestClock|TestClaimsAreLent|TestJobs|TestHeldJobs|TestNegotiatorKilled|TestWideJobStartsByItsGuarantee|TestSomeJobsUnderSlack|TestRecordOfManyJobs
pool: ## does it work on a real HTCondor pool? what matters most (4 minutes; as root, on Debian)
	$(TEST) ./integration/htcondor/... -count=1 -timeout 15m -parallel 3 -run '^($(POOL))$$' -pool

slowest: bin/retry-tests ## which twenty tests are the slowest?
	bin/retry-tests -slowest 20 ./... -count=1

lint: $(LINT) ## is it written as we write? vet and all linters, and a tidy go.mod (a minute)
	go mod tidy -diff
	GOGC=300 $(LINT) run --concurrency 6

fmt: $(LINT) ## format the code
	$(LINT) fmt

fuzz: ## which input breaks it? each fuzz target for FUZZTIME; what is found becomes a seed
	.ci/fuzz $(FUZZTIME)

stress: ## which test loses a race? the tests of PKG with delays before statements, chosen by SEED
	go run ./integration/stress-tests -seed $(SEED) -race $(PKG)

soak: ## what is still wrong? everything that searches for faults, each fuzz target for FUZZTIME (an hour with 60s; HOSTILE=1h besieges for an hour more)
	.ci/soak $(FUZZTIME)

bench: $(BENCHSTAT) ## what got slower? benchmarks like BENCH of PKGS, here and at REF (the last tag): a table, then what is over 3 %
	PATH="$(BENCHSTAT):$$PATH" .ci/bench '$(BENCH)' '$(if $(filter file,$(origin REF)),,$(REF))' $(PKGS)

identical: ## are the schedules still the same? 208 runs over ten traces, against the commit REF; only those like RUNS
	.ci/identical $(REF) '$(RUNS)'

proto: $(PROTO) ## lint the protocol, hold it against the last released one, and generate its Go code
	cd plugins/policyv1 && PATH="$(PROTO):$$PATH" && buf lint && buf breaking --against baseline.binpb && buf generate
	cp plugins/policyv1/policy.proto plugins/examples/node/
	cd negotiator/record/recordv1 && PATH="$(PROTO):$$PATH" && buf lint && buf generate

baseline: $(PROTO) ## make the protocol as it is the last released one
	cd plugins/policyv1 && $(PROTO)/buf build --exclude-source-info -o baseline.binpb
	cp plugins/policyv1/baseline.binpb plugins/examples/python/policy.binpb

tools: $(LINT) $(PROTO) ## install what lint and proto need, outside the tree

release: $(PACK) ## what do users get? archives, packages and lists of parts of the last commit, into dist/
	PATH="$(PACK):$$PATH" .ci/release $(DIST)

twice: $(PACK) ## does everybody who builds a release get the same bytes? (eleven minutes of processor time)
	PATH="$(PACK):$$PATH" .ci/release-twice

pack: $(PACK) ## install what releases are packed with, outside the tree

ci: ## may it land? what continuous integration runs (eight minutes with empty caches)
	bash .ci/run

bin/retry-tests: $(wildcard integration/retry-tests/*.go)
	go build -o $@ ./integration/retry-tests

$(BENCHSTAT):
	mkdir -p $(TOOLS) && part=$$(mktemp -d $@.XXXX) && \
	GOBIN=$$part go install golang.org/x/perf/cmd/benchstat@$(PERF) && \
	{ mv -T $$part $@ 2>/dev/null || rm -r $$part; } && [ -d $@ ]

# Each is made in a folder of its own, and whoever comes second keeps what is there.
$(LINT):
	mkdir -p $(TOOLS) && part=$$(mktemp -d $@.XXXX) && \
	GOBIN=$$part go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT) && \
	mv $$part/golangci-lint $@ && rmdir $$part

$(PROTO):
	mkdir -p $(TOOLS) && part=$$(mktemp -d $@.XXXX) && export GOBIN=$$part && \
	go install github.com/bufbuild/buf/cmd/buf@$(BUF) && \
	go install google.golang.org/protobuf/cmd/protoc-gen-go@$(PROTOC_GEN_GO) && \
	go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@$(PROTOC_GEN_GO_GRPC) && \
	go install github.com/planetscale/vtprotobuf/cmd/protoc-gen-go-vtproto@$(PROTOC_GEN_GO_VTPROTO) && \
	{ mv -T $$part $@ 2>/dev/null || rm -r $$part; } && [ -d $@ ]

$(PACK):
	mkdir -p $(TOOLS) && part=$$(mktemp -d $@.XXXX) && export GOBIN=$$part && \
	go install -trimpath github.com/goreleaser/nfpm/v2/cmd/nfpm@$(NFPM) && \
	go install -trimpath github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX) && \
	{ mv -T $$part $@ 2>/dev/null || rm -r $$part; } && [ -d $@ ]
