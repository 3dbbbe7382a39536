import Foundation
import HaulControl
import HaulCore
import HaulDaemon
import Logging
import Testing

/// The daemon's log has a line for each start, end and long wait.
@Suite struct TransferLogTests {
  private var log = TransferLog()
  private let id = Ends.id

  private mutating func lines(_ kinds: TransferEvent.Kind...) throws -> [String] {
    let url = try ResourceURL("http://me:pass@h.example/a%0Ab?token=secretword")
    return kinds.flatMap { kind in
      log.entries(about: TransferEvent(number: nil, id: id, url: url, kind: kind), time: 0)
        .map(\.text)
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
    let doubtful = TransferResult(
      state: .completed, path: "/d/f", bytes: 5, verified: .unverified)
    let ends = [TransferResult(state: .failed, path: nil, bytes: 0, error: error), doubtful].flatMap
    {
      log.entries(about: TransferEvent(number: nil, id: id, kind: .finished($0)), time: 0)
    }
    #expect(ends.map(\.warning) == [nil, "unverified"])
    #expect(ends[0].message?.hasPrefix("gone") == true && ends[0].message != "gone\u{1b}[2J")
    let warned = try self.lines(.finished(doubtful))
    #expect(warned[0].hasPrefix("\(lines[3]); warning: nothing shows that"))
  }

  @Test mutating func `An end that changed nothing says so, and one beside a kept file names both`()
    throws
  {
    let result = TransferResult(state: .completed, path: "/d/f (1)", bytes: 5)
    let ends = [result.notingUnchanged(), result.noting(kept: "f")].flatMap {
      log.entries(about: TransferEvent(number: nil, id: id, kind: .finished($0)), time: 0)
    }
    #expect(
      ends.map(\.text) == [
        "\(id): unchanged, 5 B, /d/f (1)",
        "\(id): completed, 5 B, /d/f (1); kept your f; the new one is f (1)",
      ])
    #expect(ends.map(\.isUnchanged) == [true, false] && ends.map(\.kept) == [nil, "f"])
    #expect(ends.map(\.kind) == [.completed, .completed])
  }

  @Test mutating func `Each start has an end, or a line that says why it stopped`() throws {
    let closed = WaitReason.schedule("outside the schedule until 22:00", until: nil)
    let lines = try lines(
      .waiting(closed), .phase(.connecting, reason: nil), .waiting(closed), .waiting(closed),
      .phase(.connecting, reason: nil), .paused(by: .user), .paused(by: .user),
      .phase(.connecting, reason: nil), .removed, .removed)
    let ends = lines.filter { !$0.contains("started") }
    #expect(
      ends
        == ["outside the schedule until 22:00", "paused", "removed"].map {
          "\(id): stopped: \($0)"
        })
  }

  @Test func `What happens to the queue is a line of its own, without a transfer`() {
    let notes: [QueueNote] = [
      .outage(host: "h\u{1b}:80", transfers: 1, next: .seconds(2)),
      .answered(host: "h:80", after: .seconds(90)), .schedule(isOpen: true, "open"),
      .schedule(isOpen: false, "outside the schedule until 22:00"),
    ]
    let entries = notes.map { LogEntry($0, by: "haul limits", time: 7) }
    #expect(entries.map(\.kind) == [.outage, .answered, .opened, .closed])
    #expect(entries.allSatisfy { $0.id == nil && !$0.isEnd && $0.time == 7 })
    #expect(!entries[0].text.contains("\u{1b}"))
    #expect(entries[3].text == "outside the schedule until 22:00 (as haul limits says)")
  }

  @Test mutating func `A long wait is a line, a short one is none`() throws {
    let full = WaitReason.directoryMissing("/mnt", foundDevice: nil)
    let lines = try lines(.waiting(.slot), .waiting(full), .waiting(full))
    #expect(lines.count == 1 && lines[0].hasPrefix("waiting: the directory /mnt is missing"))
  }
}

/// The file of these lines.
@Suite struct LogWriterTests {
  private func with(_ body: (LogFiles, LogWriter) async throws -> Void) async throws {
    let directory = NSTemporaryDirectory() + "/haul-log-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let files = LogFiles(path: "\(directory)/transfers.log")
    try await body(files, LogWriter(files, logger: Logger(label: "test")))
  }

  private func read(_ path: String) throws -> [LogEntry] {
    try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap {
      try? JSONDecoder().decode(LogEntry.self, from: Data($0.utf8))
    }
  }

  private func entry(_ number: Int, text: String = "x") -> LogEntry {
    LogEntry(.completed, text, time: Double(number))
  }

  @Test func `lines are added for its owner only, also after a part of a line`() async throws {
    try await with { files, writer in
      await writer.append([entry(1), entry(2)])
      let mode = try FileManager.default.attributesOfItem(atPath: files.path)[.posixPermissions]
      #expect(mode as? Int == 0o600)
      let handle = try #require(FileHandle(forWritingAtPath: files.path))
      try handle.seekToEnd()
      try handle.write(contentsOf: Data(#"{"time":3,"ki"#.utf8))
      try handle.close()
      await writer.append([entry(4)])
      #expect(try read(files.path) == [entry(1), entry(2), entry(4)])
    }
  }

  @Test func `a long file makes room for another, and no link is written to`() async throws {
    try await with { files, writer in
      let long = String(repeating: "x", count: LogFiles.longestLine / 2)
      for number in 0..<40 { await writer.append([entry(number, text: long)]) }
      let (former, present) = (try read(files.former), try read(files.path))
      #expect((former + present).map(\.time) == (0..<40).map(Double.init))
      #expect(!present.isEmpty && former.count > present.count)
      await writer.append([entry(41, text: long + long)])
      #expect(try read(files.path).count == present.count, "no line is that long")
      try FileManager.default.removeItem(atPath: files.path)
      try FileManager.default.createSymbolicLink(
        atPath: files.path, withDestinationPath: files.former)
      await writer.append([entry(42)])
      #expect(try read(files.former) == former)
    }
  }
}
