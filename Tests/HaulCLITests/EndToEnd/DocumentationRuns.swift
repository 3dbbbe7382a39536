import Foundation
import Testing

/// The library's documentation, as `make docs` builds it.
@Suite("Documentation", .timeLimit(.minutes(4)))
struct DocumentationRuns {
  @Test("The tutorials' programs compile, and no symbol, link or image is missing")
  func checked() async throws {
    let root = DocumentPage.root
    let result = try await CommandRun(
      [], in: root.path, environment: ProcessInfo.processInfo.environment,
      program: root.appending(path: "Scripts/docs").path
    ).end()
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output.contains("docs: complete"))
  }
}
