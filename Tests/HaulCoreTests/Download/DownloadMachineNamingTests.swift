import HaulCore
import Testing

/// A name from the server, in the machine.
@Suite struct DownloadMachineNamingTests {
  private func script(
    _ change: (inout DownloadMachine.Rules) -> Void = { _ in }
  ) throws -> MachineScript {
    try MachineScript {
      $0.learnsName = true
      change(&$0)
    }
  }

  private func recovered(_ received: Range<Int64>, tag: String?) -> DownloadMachine.Found {
    .init(
      .init(
        version: .init(
          validator: Validator(entityTag: tag, lastModified: nil, lastModifiedIsStrong: false),
          length: 100),
        received: ByteRangeSet(received)))
  }

  @Test func `The accepted answer waits for its target, and is received then`() throws {
    var script = try script()
    check(script.start(), is: ["connecting", "open 1 0-"])
    check(try script.range(1, 0, 99), is: ["bind 1"])
    let commands = script.send(.bound(.init()))
    #expect(commands.first == "transferring")
    #expect(commands.last?.hasPrefix("receive 1") == true)
  }

  @Test func `An answer that is not a file needs no target`() throws {
    var script = try script { $0.request.maximumSize = 10 }
    _ = script.start()
    let commands = try script.range(1, 0, 99)
    #expect(commands.first == "drop 1")
    #expect(!commands.contains("bind 1"))
    var other = try self.script()
    _ = other.start()
    #expect(try !other.answer(1, 404).contains("bind 1"))
  }

  @Test
  func `If bytes of an earlier run count, the answer is dropped and the rest requested`() throws {
    var script = try script()
    _ = script.start()
    _ = try script.range(1, 0, 99)
    check(
      script.send(.bound(recovered(0..<40, tag: "\"v1\""))), is: ["drop 1", "open 1 40-99 if"])
    #expect(script.plan.receivedCount == 40)
  }

  @Test func `A complete file on disk is not requested again`() throws {
    var script = try script()
    _ = script.start()
    _ = try script.range(1, 0, 99)
    let commands = script.send(.bound(recovered(0..<100, tag: "\"v1\"")))
    #expect(commands.first == "drop 1")
    #expect(!commands.contains { $0.hasPrefix("open") })
  }

  @Test func `The answer replaces bytes that nothing proves`() throws {
    var script = try script()
    _ = script.start()
    _ = try script.range(1, 0, 99)
    let commands = script.send(.bound(recovered(0..<40, tag: nil)))
    #expect(commands.first == "restarted")
    #expect(commands.last?.hasPrefix("receive 1") == true)
    #expect(script.plan.receivedCount == 0)
  }

  @Test func `An existing file is compared with the head that had the name`() throws {
    let file = DownloadMachine.ExistingFile(
      path: "d/f", size: 100, modified: 0, entityTag: "\"v1\"")
    var script = try script()
    _ = script.start()
    _ = try script.range(1, 0, 99)
    let commands = script.send(.bound(.init(existing: [file])))
    #expect(commands.first == "drop 1")
    #expect(!commands.contains { $0.hasPrefix("receive") })
  }
}
