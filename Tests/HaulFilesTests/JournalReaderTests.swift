import Foundation
import HaulCore
import HaulFiles
import HaulTesting
import Testing

/// The independent reader, written from docs/journal-format.md alone.
@Suite
struct JournalReaderTests {
  static let script =
    URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "Scripts/journal_reader.py").path

  static let hasPython = FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")

  private struct Answer: Decodable {
    var condition: String
    var claimed: [[Int64]]
    var durable: Int
    var torn: Int
    var violations: [String]
    var head: JournalHead?
  }

  private func read(_ scratch: Scratch, truth: String) async throws
    -> (status: Int32, answer: Answer)
  {
    let output = Pipe()
    let process = try ChildProcess(
      "/usr/bin/python3",
      [
        Self.script, "\(scratch.path)/file.iso.haul.journal",
        "\(scratch.path)/file.iso.haul.part", "--truth", "\(scratch.path)/\(truth)", "--crc",
      ],
      environment: [:], output: output.fileHandleForWriting.fileDescriptor, errors: 2)
    // Its output fits into a pipe.
    let status = try await process.waitForExit()
    try output.fileHandleForWriting.close()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    return (status, try JSONDecoder().decode(Answer.self, from: text))
  }

  @Test(.enabled(if: hasPython))
  func `It reads Haul's journals, and detects an invalid claim`() async throws {
    let scratch = try Scratch()
    let content = sampleBytes(50_000)
    try scratch.put(content, as: "truth")
    let part = try scratch.acquire()
    try part.begin(try sampleHead(50_000))
    try part.write(0..<20_000, of: content)
    try part.checkpoint()
    try part.write(30_000..<50_000, of: content)
    part.release()
    let (status, answer) = try await read(scratch, truth: "truth")
    #expect(status == 0)
    #expect(answer.condition == "valid")
    #expect(answer.claimed == [[0, 20_000], [30_000, 50_000]])
    #expect(answer.durable == 1)
    #expect(answer.torn == 0)
    #expect(answer.head == (try sampleHead(50_000)))

    var damaged = try scratch.contents("file.iso.haul.part")
    damaged[31_000] ^= 1
    try scratch.put(damaged, as: "file.iso.haul.part")
    let second = try await read(scratch, truth: "truth")
    #expect(second.status == 1)
    #expect(second.answer.violations.count == 2)
  }
}
