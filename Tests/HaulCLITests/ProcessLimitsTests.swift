import HaulCLI
import Testing

/// Concurrency fits into the limits of the process.
@Suite
struct ProcessLimitsTests {
  @Test func `The defaults fit into the usual limit, without a message`() {
    var limits = ManagerOptions()
    #expect(ProcessLimits(openFiles: 1024).apply(to: &limits) == nil)
    #expect(limits == ManagerOptions())
  }

  @Test
  func `If too many transfers are requested, fewer run at the same time, with a message`() throws {
    var limits = ManagerOptions()
    limits.maximumActive = 5_000
    limits.maximumConnections = 5_000
    let line = try #require(ProcessLimits(openFiles: 1024).apply(to: &limits))
    #expect(line.contains("1024 open files"))
    #expect(line.contains("ulimit -n"))
    #expect(limits.maximumActive < 5_000 && limits.maximumActive > 100)
    #expect(3 * limits.maximumActive + 2 * limits.maximumConnections <= 1024)
  }

  @Test func `With a very low limit, one transfer runs`() {
    var limits = ManagerOptions()
    #expect(ProcessLimits(openFiles: 20).apply(to: &limits) != nil)
    #expect(limits.maximumActive == 1)
    #expect(limits.maximumConnections == 1)
  }

  @Test func `If the system reports no limit, nothing changes`() {
    var limits = ManagerOptions()
    limits.maximumActive = 100_000
    #expect(ProcessLimits(openFiles: nil).apply(to: &limits) == nil)
    #expect(limits.maximumActive == 100_000)
  }

  @Test func `If not even one transfer fits, a line says so, and what is needed`() {
    #expect(ProcessLimits(openFiles: 10, cores: 2).refusal?.contains("needs 28") == true)
    #expect(ProcessLimits(openFiles: 28, cores: 2).refusal == nil)
    #expect(ProcessLimits(memory: 200 << 20, cores: 2).refusal?.contains("512.0 MiB") == true)
    #expect(ProcessLimits(memory: 512 << 20, cores: 2).refusal == nil)
    #expect(ProcessLimits(cores: 64).refusal == nil)
  }
}
