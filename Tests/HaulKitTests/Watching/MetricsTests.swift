import HaulCore
import HaulKit
import HaulTesting
import Testing

/// The network figures of a result.
@Suite(.timeLimit(.minutes(10))) struct MetricsTests {
  @Test func `Metrics count the sent requests and the retries`() async throws {
    let resource = FaultScript.Resource.plain("a").with {
      $0.faults = [Fault(.close(after: 0), when: .init(times: 2))]
    }
    try await QueueFixture.with([resource]) { queue in
      let a = try await queue.manager.add(try queue.request("a") { $0.retry.retries = 3 })
      let metrics = try #require(try await a.result.metrics)
      #expect(metrics.requests == 3 && metrics.requests == queue.requests(a).count)
      #expect(metrics.retries == 2)
      #expect(try #require(metrics.timeToFirstResponse) > .zero)
    }
  }

  @Test func `The time to the first answer is measured with the manager's clock`() async throws {
    let resource = FaultScript.Resource.plain("a").with {
      $0.faults = [Fault(.stallBeforeHead, when: .request(1))]
    }
    try await DownloadFixture.with([resource]) { fixture in
      let clock = ManualClock()
      try await fixture.withManager(clock: clock) { manager in
        let transfer = try await manager.add(
          try fixture.request("/a", as: "a") { $0.connections = 1 })
        try await fixture.server.waitForHeld("/a")
        clock.advance(by: .seconds(3))
        fixture.server.release()
        let metrics = try await transfer.result.metrics
        #expect(metrics?.timeToFirstResponse == .seconds(3))
        #expect(metrics?.requests == 1 && metrics?.retries == 0)
      }
    }
  }

  @Test func `A transfer without requests has no metrics`() async throws {
    try await StepFixture.with { fixture in
      let step = try await fixture.manager.add(.step("pass"))
      #expect(try await step.result.metrics == nil)
    }
  }

  @Test func `A transfer without an answer has no time to the first answer`() async throws {
    let resource = FaultScript.Resource.plain("a").with { $0.faults = [Fault(.raw(text: ""))] }
    try await QueueFixture.with([resource]) { queue in
      let a = try await queue.add("a")[0]
      _ = await code(a)
      let reported = await a.events().next(atMost: 1).first
      guard case .snapshot(let snapshot) = reported?.kind else {
        Issue.record("\(String(describing: reported))")
        return
      }
      #expect(snapshot.result?.metrics?.timeToFirstResponse == nil)
      #expect(snapshot.result?.metrics?.requests == queue.requests(a).count)
    }
  }
}
