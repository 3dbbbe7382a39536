import Foundation
import Testing

/// The library's documentation, as `make docs` builds it.
@Suite(.timeLimit(.minutes(10)))
struct DocumentationRuns {
  @Test
  func `The tutorials' programs compile, and no symbol, link or image is missing`() async throws {
    let root = DocumentPage.root
    let result = try await CommandRun(
      [], in: root.path, environment: ProcessInfo.processInfo.environment,
      program: root.appending(path: "Scripts/docs").path
    ).end()
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output.contains("docs: complete"))
  }
}
