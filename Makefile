# Everything that is done with the repository by name. `make` alone lists it.
.POSIX:
.PHONY: help test lint release crashtest simulate-disk fresh-machine speed changed-file limit-rate
.PHONY: expiring-link server-limits clean

KILLS = 300
SCHEDULES = 10000
SWIFT_BUILD = swift build --build-tests --explicit-target-dependency-import-check error

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 16

test: ## gets what is missing, builds and runs all tests
	@Scripts/install build
	$(SWIFT_BUILD)
	swift test --skip-build

lint: ## formatting, banned words, shell scripts
	@Scripts/lint

release: ## the release binary
	@Scripts/release haul

crashtest: ## SIGKILL of the release binary at random times; KILLS=300
	@Scripts/install build python
	@Scripts/crashtest --kills $(KILLS)

simulate-disk: ## seeded power losses on the simulated disk; SCHEDULES=10000
	@Scripts/install build
	$(SWIFT_BUILD)
	HAUL_SCHEDULES=$(SCHEDULES) swift test --skip-build --filter ScheduleTests

fresh-machine: ## ./haul get and make test in a bare Debian 12 (root)
	@Scripts/install chroot python
	@Scripts/fresh-machine

speed: ## time, CPU and memory beside curl, aria2 and wget2
	@Scripts/install build python server peers
	@Scripts/speed

changed-file: ## the file changes between two runs: haul, aria2, curl, axel, wget2
	@Scripts/install build python server peers
	@Scripts/changed-file

limit-rate: ## --limit-rate 2M over 8 connections, in any 10 s within 2 %
	@Scripts/install build python
	@Scripts/limit-rate

expiring-link: ## a redirect to links that are good for 5 s, and to one that is dead
	@Scripts/install build python
	@Scripts/expiring-link

server-limits: ## two connections per client; 503 with a date: with times
	@Scripts/install build python
	@Scripts/server-limits

clean: ## removes what was built
	rm -rf .build
