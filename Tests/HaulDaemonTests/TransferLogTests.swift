import HaulCore
import HaulDaemon
import Testing

/// The daemon's log has a line for each start, end and long wait.
@Suite struct TransferLogTests {
  private var log = TransferLog()
  private let id = Ends.id

  private mutating func lines(_ kinds: TransferEvent.Kind...) throws -> [String] {
    let url = try ResourceURL("http://me:pass@h.example/a%0Ab?token=secretword")
    return kinds.flatMap { kind in
      log.lines(about: TransferEvent(number: nil, id: id, url: url, kind: kind), time: 0)
    }
  }

  @Test mutating func `A start is one line, without secrets, however often it connects`() throws {
    let lines = try lines(
      .added(target: nil), .phase(.connecting, reason: nil), .phase(.transferring, reason: nil),
      .phase(.connecting, reason: nil), .progress(TransferProgress(bytes: 1)))
    #expect(lines.count == 1 && lines[0].hasPrefix("\(id): started, http://h.example/"), "\(lines)")
    #expect(!lines[0].contains("pass") && !lines[0].contains("secretword"))
  }

  @Test mutating func `An end says how, and the next run is a start again`() throws {
    let error = TransferError(.notFound, "gone\u{1b}[2J")
    let lines = try lines(
      .phase(.connecting, reason: nil),
      .finished(TransferResult(state: .failed, path: nil, bytes: 0, error: error)),
      .phase(.connecting, reason: nil),
      .finished(TransferResult(state: .completed, path: "/d/f", bytes: 5, error: nil)))
    #expect(lines.count == 4)
    #expect(lines[1].hasPrefix("\(id): failed, not-found: gone") && !lines[1].contains("\u{1b}"))
    #expect(lines[3] == "\(id): completed, 5 B, /d/f")
    let page = TransferResult(state: .completed, path: "/d/f", bytes: 5).notingUnexpectedPage()
    let warned = try self.lines(.finished(page))
    #expect(warned[0].hasPrefix("\(lines[3]); warning: the server sent a web page"))
  }

  @Test mutating func `A long wait is a line, a short one is none`() throws {
    let full = WaitReason.directoryMissing("/mnt", foundDevice: nil)
    let lines = try lines(.waiting(.slot), .waiting(full), .waiting(full))
    #expect(lines.count == 1 && lines[0].hasPrefix("waiting: the directory /mnt is missing"))
  }
}
