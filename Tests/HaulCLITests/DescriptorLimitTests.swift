import HaulCLI
import Testing

@Suite("What is done at once fits into the open files that a process may have")
struct DescriptorLimitTests {
  @Test("The defaults fit into the usual limit, and nothing is said")
  func defaultsFit() {
    var limits = EngineLimits()
    #expect(DescriptorLimit.apply(1024, to: &limits) == nil)
    #expect(limits == EngineLimits())
  }

  @Test("More transfers than fit are fewer at once, and that is told")
  func manyAreFewer() throws {
    var limits = EngineLimits()
    limits.maximumActive = 5_000
    limits.connectionsInAll = 5_000
    let line = try #require(DescriptorLimit.apply(1024, to: &limits))
    #expect(line.contains("1024 open files"))
    #expect(line.contains("ulimit -n"))
    #expect(limits.maximumActive < 5_000 && limits.maximumActive > 100)
    #expect(3 * limits.maximumActive + 2 * limits.connectionsInAll <= 1024)
  }

  @Test("With next to none one transfer is left")
  func fewestIsOne() {
    var limits = EngineLimits()
    #expect(DescriptorLimit.apply(20, to: &limits) != nil)
    #expect(limits.maximumActive == 1)
    #expect(limits.connectionsInAll == 1)
  }

  @Test("Where the system tells no limit nothing changes")
  func withoutLimit() {
    var limits = EngineLimits()
    limits.maximumActive = 100_000
    #expect(DescriptorLimit.apply(nil, to: &limits) == nil)
    #expect(limits.maximumActive == 100_000)
  }
}
