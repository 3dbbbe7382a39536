import HaulCache
import Testing

@Suite struct MemoryPressureTests {
  private func sample(_ stalled: Int, high: Int = 0) -> MemorySample {
    MemorySample(
      pressure: """
        some avg10=1.00 avg60=0.00 avg300=0.00 total=\(stalled)
        full avg10=0.00 avg60=0.00 avg300=0.00 total=7
        """, events: "low 5\nhigh \(high)\nmax 0\noom 0\noom_kill 0\n")
  }

  @Test func `reads the files of the kernel`() {
    #expect(sample(123, high: 4).stalled == 123)
    #expect(sample(0, high: 4).limitEvents == 4)
    #expect(MemorySample(pressure: "nonsense", events: nil).stalled == nil)
  }

  @Test func `time that tasks wait for memory is pressure, a reached limit is critical`() {
    var judge = MemoryPressureJudge()
    #expect(judge.handle(sample(1_000_000), seconds: 1) == .none)
    #expect(judge.handle(sample(1_050_000), seconds: 1) == .none)
    #expect(judge.handle(sample(1_150_000), seconds: 1) == .warning)
    #expect(judge.handle(sample(1_550_000), seconds: 1) == .critical)
    #expect(judge.handle(sample(1_550_000, high: 1), seconds: 1) == .critical)
    #expect(judge.handle(sample(1_550_000, high: 1), seconds: 1) == .none)
  }
}
