# Targets print their help from the text behind ##.
GOLANGCI_LINT = v2.15.0
LINT = bin/golangci-lint-$(GOLANGCI_LINT)
BUF = v1.75.0
PROTOC_GEN_GO = v1.36.12
PROTOC_GEN_GO_GRPC = v1.6.2
PROTOC_GEN_GO_VTPROTO = v0.6.1-0.20240319094008-0393e58bdf10
PROTO = bin/proto-$(BUF)
FUZZTIME ?= 10s
export GOFLAGS := -buildvcs=false

.PHONY: help build test race lint fmt fuzz bench proto baseline ci

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build every binary into bin/
	go build -o bin/ ./...

test: ## run all tests
	go test ./...

race: ## run the tests of what is concurrent under the race detector
	go test -race $$(go list ./plugins/... ./negotiator/... | grep -vE 'plugins/(check|examples)$$') -skip Verdict
	go test -race -run 'Ends|Probe' ./plugins/check
	go test -race -run 'WhileTheOriginalGoesOn' ./backfill
	go test -race -run 'LinkedPolicies/(easy|maui|pc)$$' ./backfill/backfilltest
	go test -race -run 'Outlive|Goroutines|Concurrently' ./classad
	go test -race -run 'FairStarts$$' ./condorsim -rapid.checks=10
	go test -race -run 'AnyNumberOfCores' ./condorsim/sweep

lint: $(LINT) ## vet, lint, and check that go.mod is tidy
	go vet ./...
	go mod tidy -diff
	$(LINT) run

fmt: $(LINT) ## format the code
	$(LINT) fmt

fuzz: ## run each fuzz target for FUZZTIME
	@go list -f '{{.ImportPath}} {{.Dir}}' ./... | while read -r pkg dir; do \
	  for target in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]+' $$dir/*_test.go 2>/dev/null | sed 's/func //'); do \
	    echo "$$pkg $$target"; ./.ci/fuzz $$pkg $$target $(FUZZTIME) || exit 1; \
	  done; done

bench: ## run the benchmarks, six times each, for benchstat
	go test -run '^$$' -bench . -benchmem -count 6 ./classad/... ./backfill/... ./plugins/... ./condorsim/...

proto: $(PROTO) ## lint the protocol, hold it against the last released one, and generate its Go code
	cd plugins/policyv1 && PATH="$(CURDIR)/$(PROTO):$$PATH" && buf lint && buf breaking --against baseline.binpb && buf generate

baseline: $(PROTO) ## make the protocol as it is the last released one
	cd plugins/policyv1 && $(CURDIR)/$(PROTO)/buf build --exclude-source-info -o baseline.binpb

ci: ## run what continuous integration runs
	bash .ci/run

$(LINT):
	GOBIN=$(CURDIR)/bin go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT)
	mv bin/golangci-lint $@

$(PROTO):
	GOBIN=$(CURDIR)/$@.part go install github.com/bufbuild/buf/cmd/buf@$(BUF)
	GOBIN=$(CURDIR)/$@.part go install google.golang.org/protobuf/cmd/protoc-gen-go@$(PROTOC_GEN_GO)
	GOBIN=$(CURDIR)/$@.part go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@$(PROTOC_GEN_GO_GRPC)
	GOBIN=$(CURDIR)/$@.part go install github.com/planetscale/vtprotobuf/cmd/protoc-gen-go-vtproto@$(PROTOC_GEN_GO_VTPROTO)
	mv $@.part $@
