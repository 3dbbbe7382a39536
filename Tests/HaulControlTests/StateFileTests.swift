import Foundation
import HaulControl
import HaulCore
import Testing

@Suite struct StateFileTests {
  private let directory = FileManager.default.temporaryDirectory
    .appending(path: "haul-state-\(UUID().uuidString)").path

  init() throws {
    try FileManager.default.createDirectory(
      atPath: "\(directory)/taken/below", withIntermediateDirectories: true)
  }

  @Test func `A write that fails leaves nothing beside the file`() throws {
    defer { try? FileManager.default.removeItem(atPath: directory) }  // a scratch directory
    let error = #expect(throws: TransferError.self) {
      try StateFile(path: "\(directory)/taken").write([1])
    }
    #expect(error?.code == .io)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["taken"])
  }

  @Test func `A pipe with the name of a state file is refused, and not waited for`() throws {
    defer { try? FileManager.default.removeItem(atPath: directory) }  // a scratch directory
    let pipe = StateFile(path: "\(directory)/pipe")
    #expect(mkfifo(pipe.path, 0o600) == 0)
    let error = #expect(throws: TransferError.self) { try pipe.read(isSecret: true) }
    #expect(error?.code == .permissionDenied)
  }
}
