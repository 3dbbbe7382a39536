# All commands for work on the repository. `make` alone lists them.
.POSIX:
.PHONY: help test demo docs api lint release install uninstall package install-check crashtest simulate simulate-disk
.PHONY: completion-check services-check api-check argument-check ui-test gallery-test daemon-kills kill-points outside-package fresh-machine bench changed-file limit-rate interop first-five-minutes
.PHONY: upload-kills list-kills upload-limits cluster-check lan-test
.PHONY: expiring-link host-outage main-thread server-limits cost mutants fuzz coverage sanitize torture store-bench clean

PREFIX = /usr/local
DESTDIR =
KILLS = 300
DAEMON_KILLS = 100
SCHEDULES = 10000
SEEDS = 20000
SEED = 1
DISK_SEED = 20000
FUZZ_SECONDS = 20
FUZZ_RUNS = 0
EVERY = 3
SWIFT_BUILD = Scripts/build-tests $(HAUL_BUILD_OPTIONS)

# Package.swift then takes the versions that were tested.
export HAUL_TESTED = 1

help: ## lists these commands
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 20

test: ## installs missing packages, builds everything, runs all tests
	@Scripts/install build
	$(SWIFT_BUILD)
	@Scripts/test

demo: ## downloads 512 MiB through resets, stalls, 503s and a kill; no network, a minute
	@Scripts/install build python
	@Scripts/demo

first-five-minutes: ## records docs/first-five-minutes.md from the real program
	@Scripts/install build python
	@Scripts/first-five-minutes

docs: ## writes the library's documentation as a web site to .build/docs
	@Scripts/docs .build/docs

api: ## writes docs/api.txt, the list of the public interface, from the debug build
	@Scripts/api

lint: ## checks formatting, banned words and shell scripts
	@Scripts/lint

release: ## builds the release binary
	@Scripts/release haul

install: ## installs haul, its manual and completions below PREFIX=/usr/local (with DESTDIR= before it)
	@Scripts/install-haul "$(DESTDIR)" "$(PREFIX)"

uninstall: ## removes what install has installed
	@Scripts/install-haul --remove "$(DESTDIR)" "$(PREFIX)"

package: ## makes a Debian package and a tar file of the binary, in .build/package
	@Scripts/install build python
	@Scripts/package

install-check: ## tests make install, where there is neither the checkout nor Swift
	@Scripts/install build python shells
	@Scripts/install-check

crashtest: ## kills the release binary (SIGKILL) at random times; KILLS=300
	@Scripts/install build python
	@Scripts/crashtest --kills $(KILLS)

daemon-kills: ## kills the daemon under 20 transfers and between commands and responses; DAEMON_KILLS=100
	@Scripts/install build python server
	@Scripts/daemon-kills --kills $(DAEMON_KILLS)

completion-check: ## presses Tab in bash, zsh and fish, with names that a shell could run
	@Scripts/install build python shells
	@Scripts/completion-check --all

services-check: ## installs a package with a service, which must not start, in a copy of this system (root)
	@Scripts/services-check

argument-check: ## shows that no program gets a secret as an argument or a variable
	@Scripts/install build python strace
	@Scripts/argument-check

api-check: ## calls a daemon as docs/openapi.yaml says, with generated values, for a minute
	@Scripts/install build python api
	@Scripts/api-check

ui-test: ## drives the web page in Chromium; ARGUMENTS='--quick', '--load', '--only reorder'
	@Scripts/install build python ui
	@Scripts/ui-test $(ARGUMENTS)

lan-test: ## uses and attacks the web page from another machine (a namespace); ARGUMENTS='--quick' (root)
	@Scripts/install build python ui server tls lan
	@Scripts/lan-test $(ARGUMENTS)

kill-points: ## kills a stored queue between any two statements of a state change
	@Scripts/install build
	$(SWIFT_BUILD)
	@HAUL_KILL_POINTS=all Scripts/test --filter KillPointRuns

simulate: ## runs seeded scenarios of the whole queue; SEEDS=20000, SEED=1
	@Scripts/install build python
	@Scripts/simulate --seeds $(SEEDS) --seed $(SEED)

simulate-disk: ## cuts the power of the simulated disk at seeded moments; SCHEDULES=10000
	@Scripts/install build python
	@Scripts/simulate-disk --schedules $(SCHEDULES) --seed $(DISK_SEED)

gallery-test: ## scrolls the example AppGallery in Chromium, and reads its icons back from the pixels
	@Scripts/install build python ui
	@Scripts/gallery-test $(ARGUMENTS)

outside-package: ## builds the README's example, a mock and the cache's tutorial outside the repository
	@Scripts/install build python
	@Scripts/outside-package

fresh-machine: ## runs ./haul get and make test in a bare Debian 12 (root)
	@Scripts/install chroot python
	@Scripts/fresh-machine

bench: ## compares with other programs; ARGUMENTS='--only single,rate,upload --rounds 5 --quick'
	@Scripts/install build python server tls peers perf api
	@Scripts/bench $(ARGUMENTS)

cost: ## counts the instructions of a small file, a MiB over TLS and an added transfer; two minutes
	@Scripts/install build python server tls cost
	@Scripts/cost

store-bench: ## measures a million members in the store: add, open, page, change; ARGUMENTS='--batch 1000'
	@Scripts/install build
	@Scripts/store-bench $(ARGUMENTS)

changed-file: ## changes the file between two runs of haul, aria2, curl, axel and wget2
	@Scripts/install build python server peers
	@Scripts/changed-file

limit-rate: ## checks --limit-rate 2M over 8 connections: within 2 % in any 10 s
	@Scripts/install build python
	@Scripts/limit-rate

upload-kills: ## kills uploads (SIGKILL) by tus, IETF resumable uploads and S3; ARGUMENTS='--kills 200 --only moto'
	@Scripts/install build python api uploads
	@Scripts/upload-kills $(ARGUMENTS)

list-kills: ## kills lists to S3 stores (SIGKILL), with a manifest; ARGUMENTS='--kills 200 --only moto'
	@Scripts/install build python server api
	@Scripts/list-kills $(ARGUMENTS)

upload-limits: ## checks memory (3 GiB, fast and slow servers) and --limit-rate of uploads, by each protocol
	@Scripts/install build python server api uploads
	@Scripts/upload-limits $(ARGUMENTS)

cluster-check: ## runs Examples/Cluster in a Slurm of one node and in Ray; ARGUMENTS='--quick' (root)
	@Scripts/install build python api cluster
	@Scripts/cluster-check $(ARGUMENTS)

interop: ## runs haul against real servers and proxies; ARGUMENTS='--only squid --quick' (root)
	@Scripts/install build python server tls interop api uploads
	@Scripts/interop $(ARGUMENTS)

expiring-link: ## downloads from links that expire after 5 s, and from one that has expired for good
	@Scripts/install build python
	@Scripts/expiring-link

host-outage: ## stops a server for 5, 15 and 60 s under 300 downloads
	@Scripts/install build python
	@Scripts/host-outage

main-thread: ## measures how long the main thread is blocked under 1,000 downloads
	@Scripts/install build python server
	@Scripts/main-thread

server-limits: ## downloads from servers with two connections per client, and with a Retry-After date
	@Scripts/install build python
	@Scripts/server-limits

mutants: ## removes safeguards one by one; each must make a test fail (ARGUMENTS='--only NAME')
	@Scripts/install build python
	@Scripts/mutants $(ARGUMENTS)

fuzz: ## runs libFuzzer on every parser and the journal; FUZZ_SECONDS=20 for each
	@Scripts/install build python
	@Scripts/fuzz --seconds $(FUZZ_SECONDS) --runs $(FUZZ_RUNS) $(ARGUMENTS)

coverage: ## shows which lines the tests run, of HaulCore and of all
	@Scripts/install build python
	@Scripts/coverage

sanitize: ## runs all tests with the thread and the address sanitizer
	@Scripts/install build python
	@Scripts/sanitize

torture: ## lets system calls of the real binary fail, one by one; EVERY=3, 1 = all
	@Scripts/install build python strace
	@Scripts/torture --every $(EVERY) $(ARGUMENTS)

clean: ## removes what was built
	rm -rf .build
