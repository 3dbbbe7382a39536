import HaulCLI
import Logging
import NIOConcurrencyHelpers
import Testing

/// Lines of the daemon for the journal.
@Suite struct JournalLogTests {
  @Test func `a line has its level, no time, and no further line`() {
    let lines = NIOLockedValueBox<[String]>([])
    var logger = Logger(label: "test") { _ in
      JournalLog { line in lines.withLockedValue { $0.append(line) } }
    }
    logger.logLevel = .debug
    logger.error("it has\nfailed")
    logger.info("it listens", metadata: ["b": "2", "a": "1"])
    logger.debug("more")
    logger.trace("too much")
    #expect(
      lines.withLockedValue { $0 } == [
        "<3>it has\\nfailed\n", "<6>it listens a=1 b=2\n", "<7>more\n",
      ])
  }
}
