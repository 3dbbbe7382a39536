import HaulCLI
import HaulCore
import HaulLibC
import HaulTesting
import Testing

/// Standard output and standard error of a run.
@Suite struct ForegroundConsoleTests {
  /// A pipe whose ends the test closes.
  private struct Pipe {
    let reader: Int32
    let writer: Int32

    init() throws {
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0)
      reader = ends[0]
      writer = ends[1]
    }

    /// Everything up to the end; only for texts that fit into a pipe.
    func text() -> String {
      close(writer)
      var bytes = [UInt8](repeating: 0, count: 65_536)
      var count = 0
      while true {
        let more = bytes.withUnsafeMutableBytes { buffer in
          read(reader, buffer.baseAddress.map { $0 + count }, buffer.count - count)
        }
        guard more > 0 else { break }
        count += more
      }
      close(reader)
      return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
  }

  private static func console(_ output: Pipe, _ error: Pipe, json: Bool = true) -> ForegroundConsole
  {
    var options = OutputOptions()
    options.json = json
    return ForegroundConsole(
      indices: [1], options: options, context: ProcessContextTests.context(),
      standardOutput: OutputStream(descriptor: output.writer),
      standardError: OutputStream(descriptor: error.writer))
  }

  @Test func `lines go to standard output, messages to standard error`() async throws {
    let (output, error) = (try Pipe(), try Pipe())
    let console = Self.console(output, error)
    let event = try EventMaker()
    #expect(await console.handle([event(.added(target: nil))]) == .ongoing)
    #expect(await console.handle([event.failed()]) == .allEnded)
    #expect(await console.end() == .failed)
    #expect(try EventSchema().violations(output: output.text()) == [])
    #expect(error.text() == "haul: https://h/x.iso?token=***: the server has no such file\n")
  }

  @Test func `without --json, standard output stays empty`() async throws {
    let (output, error) = (try Pipe(), try Pipe())
    let console = Self.console(output, error, json: false)
    #expect(await console.handle([try EventMaker().completed()]) == .allEnded)
    #expect(await console.end() == .completed)
    #expect(output.text().isEmpty)
    #expect(error.text().contains("\n/d/x.iso: complete"))
  }

  @Test func `lines begin with the time in a log, and where that was asked for`() async throws {
    for (given, isFile, hasTime) in [
      (nil, true, true), (nil, false, false), (true, false, true), (false, true, false),
    ] as [(Bool?, Bool, Bool)] {
      let (output, error) = (try Pipe(), try Pipe())
      var options = OutputOptions()
      options.timeStamps = given
      var context = ProcessContextTests.context()
      context.standardErrorIsFile = isFile
      let console = ForegroundConsole(
        indices: [1], options: options, context: context,
        standardOutput: OutputStream(descriptor: output.writer),
        standardError: OutputStream(descriptor: error.writer))
      #expect(await console.handle([try EventMaker().completed()]) == .allEnded)
      #expect(await console.end() == .completed)
      #expect(output.text().isEmpty)
      let lines = error.text().split(separator: "\n")
      let stamp = /[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} .+/
      #expect(!lines.isEmpty && lines.allSatisfy { ($0.wholeMatch(of: stamp) != nil) == hasTime })
    }
  }

  @Test func `when the reader of standard output closes it, the run stops with 141`() async throws {
    signal(SIGPIPE, SIG_IGN)
    let (output, error) = (try Pipe(), try Pipe())
    close(output.reader)
    let console = Self.console(output, error)
    #expect(await console.handle([try EventMaker()(.added(target: nil))]) == .outputGone)
    #expect(await console.end() == .outputGone)
    #expect(error.text().contains("the reader of standard output closed it"))
    close(output.writer)
  }

  @Test func `an unwritable standard output is reported, and the run fails`() async throws {
    let (output, error) = (try Pipe(), try Pipe())
    var options = OutputOptions()
    options.json = true
    let console = ForegroundConsole(
      indices: [1], options: options, context: ProcessContextTests.context(),
      standardOutput: OutputStream(descriptor: output.reader),
      standardError: OutputStream(descriptor: error.writer))
    #expect(await console.handle([try EventMaker().completed()]) == .allEnded)
    #expect(await console.end() == .failed)
    #expect(error.text().contains("standard output cannot be written"))
    #expect(output.text().isEmpty)
  }
}
