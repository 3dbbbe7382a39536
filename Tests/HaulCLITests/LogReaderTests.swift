import Foundation
import HaulCLI
import HaulControl
import Testing

/// Follows the log that a daemon keeps.
@Suite struct LogReaderTests {
  private func with(_ body: (LogFiles) throws -> Void) throws {
    let directory = NSTemporaryDirectory() + "/haul-reader-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try body(LogFiles(path: "\(directory)/transfers.log"))
  }

  private func append(_ numbers: ClosedRange<Int>, to path: String, _ more: String = "") throws {
    if !FileManager.default.fileExists(atPath: path) { try Data().write(to: URL(filePath: path)) }
    let file = try #require(FileHandle(forWritingAtPath: path))
    try file.seekToEnd()
    for number in numbers {
      let entry = LogEntry(.completed, "x", time: Double(number))
      try file.write(contentsOf: try JSONEncoder().encode(entry) + Data("\n".utf8))
    }
    try file.write(contentsOf: Data(more.utf8))
    try file.close()
  }

  private func times(_ reader: inout LogReader) throws -> [Int] {
    try reader.next().map { Int($0.time) }
  }

  @Test func `a new file is followed, and the former one is read once`() throws {
    try with { files in
      try append(1...2, to: files.former)
      var reader = LogReader(files)
      #expect(try times(&reader) == [1, 2])
      #expect(try times(&reader) == [], "also while there is no newer one")
      try append(3...3, to: files.path)
      #expect(try times(&reader) == [3])
      try append(4...4, to: files.path)
      try FileManager.default.removeItem(atPath: files.former)
      try FileManager.default.moveItem(atPath: files.path, toPath: files.former)
      try append(5...6, to: files.path)
      #expect(try times(&reader) == [4, 5, 6])
      #expect(try times(&reader) == [])
    }
  }

  @Test func `one that was emptied, or deleted, is read from its new beginning`() throws {
    try with { files in
      try append(1...3, to: files.path)
      var reader = LogReader(files)
      #expect(try times(&reader) == [1, 2, 3])
      try Data().write(to: URL(filePath: files.path))
      #expect(try times(&reader) == [])
      let file = try #require(FileHandle(forWritingAtPath: files.path))
      try file.truncate(atOffset: 0)
      try append(4...4, to: files.path)
      #expect(try times(&reader) == [4])
      try append(5...9, to: files.path)
      #expect(try times(&reader) == [5, 6, 7, 8, 9])
      try file.truncate(atOffset: 0)
      try file.close()
      try append(10...10, to: files.path, #"{"time":"#)
      #expect(try times(&reader) == [10])
      try FileManager.default.removeItem(atPath: files.path)
      #expect(try times(&reader) == [])
      try append(11...11, to: files.path)
      #expect(try times(&reader) == [11])
    }
  }
}
