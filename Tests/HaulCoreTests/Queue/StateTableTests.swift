import Foundation
import Testing

@Suite struct StateTableTests {
  private static let page = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(components: "..", "..", "..", "docs", "states.md").standardized

  @Test func `The documentation page of states matches the machine`() throws {
    let text = StateTable.text
    if ProcessInfo.processInfo.environment["HAUL_WRITE_DOCS"] == "1" {
      try Data(text.utf8).write(to: Self.page)
    }
    let isCurrent = try Data(contentsOf: Self.page) == Data(text.utf8)
    #expect(
      isCurrent,
      "docs/states.md is not what it should be: HAUL_WRITE_DOCS=1 swift test --filter StateTable")
  }
}
