import Foundation
import HaulCore
import HaulKit
import HaulTesting
import Testing

/// Which files are Haul's, and what a new file keeps of the replaced one.
@Suite struct OwnFileTests {
  @Test(arguments: [0o600, 0o640, 0o400, 0o644, 0o664, 0o666])
  func `A new file gets the permissions of the file it replaces`(mode: Int) async throws {
    let resource = FaultScript.Resource("/f.bin", seed: 3, length: 1000)
    try await DownloadFixture.with([resource]) { fixture in
      for ifExists in [DownloadRequest.IfExists.update, .overwrite] {
        let request = try fixture.request("/f.bin", as: "f.bin") { $0.ifExists = ifExists }
        _ = try await fixture.finish(request)
        let path = "\(fixture.directory)/f.bin"
        // Only the superuser can give a file to a group that it is no member of.
        let group = geteuid() == 0 ? 65_534 : Int(getegid())
        try FileManager.default.setAttributes(
          [.posixPermissions: mode, .groupOwnerAccountID: group], ofItemAtPath: path)
        fixture.server.update("/f.bin") {
          $0.seed += 1
          $0.entityTag = "\"other-\($0.seed)\""
          $0.lastModified = ($0.lastModified ?? 0) + 60
        }
        let outcome = try await fixture.finish(request)
        #expect(outcome.result.state == .completed && outcome.result.fetched >= 1000)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.groupOwnerAccountID] as? Int == group)
        #expect(attributes[.posixPermissions] as? Int == mode)
      }
    }
  }

  /// Gives a file of the working directory to another user, as only the superuser can.
  private func give(_ name: String, of fixture: DownloadFixture, mode: Int) throws {
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o1777], ofItemAtPath: fixture.directory)
    try FileManager.default.setAttributes(
      [.posixPermissions: mode, .ownerAccountID: 65_534, .groupOwnerAccountID: 65_534],
      ofItemAtPath: "\(fixture.directory)/\(name)")
  }

  @Test(.enabled(if: geteuid() == 0), arguments: [false, true])
  func `In a sticky directory a file of another user is not the downloaded one`(
    hasChecksum: Bool
  ) async throws {
    let resource = FaultScript.Resource("/f.bin", seed: 3, length: 1000)
    try await DownloadFixture.with([resource]) { fixture in
      let content = SeededContent(seed: 3).bytes(at: 0, count: 1000)
      let request = try fixture.request("/f.bin", as: "f.bin") {
        if hasChecksum { $0.checksums = rightChecksums(seed: 3, length: 1000) }
      }
      let own = try await fixture.finish(request)
      #expect(own.result.state == .completed)
      // The control: it is there.
      #expect(try await fixture.finish(request).result.fetched == 0)
      let date = try FileManager.default.attributesOfItem(atPath: fixture.path("f.bin"))[
        .modificationDate]
      try FileManager.default.removeItem(atPath: fixture.path("f.bin"))
      try fixture.put(content, as: "f.bin")
      try FileManager.default.setAttributes(
        [.modificationDate: try #require(date)], ofItemAtPath: fixture.path("f.bin"))
      try give("f.bin", of: fixture, mode: 0o644)
      #expect(try await fixture.finish(request).result.error?.code == .nameConflict)
    }
  }

  @Test(.enabled(if: geteuid() == 0), arguments: [0o600, 0o640, 0o644, 0o664])
  func `As the superuser, a new file keeps the owner, group and mode of the one it replaces`(
    mode: Int
  ) async throws {
    let resource = FaultScript.Resource("/f.bin", seed: 3, length: 1000)
    try await DownloadFixture.with([resource]) { fixture in
      try fixture.put([1, 2, 3], as: "f.bin")
      try FileManager.default.setAttributes(
        [.posixPermissions: mode, .ownerAccountID: 65_534, .groupOwnerAccountID: 65_533],
        ofItemAtPath: fixture.path("f.bin"))
      let request = try fixture.request("/f.bin", as: "f.bin") { $0.ifExists = .overwrite }
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: 3, length: 1000, outcome)
      let attributes = try FileManager.default.attributesOfItem(atPath: fixture.path("f.bin"))
      #expect(attributes[.ownerAccountID] as? Int == 65_534)
      #expect(attributes[.groupOwnerAccountID] as? Int == 65_533)
      #expect(attributes[.posixPermissions] as? Int == mode)
    }
  }

  @Test(.enabled(if: geteuid() == 0), arguments: [(0o660, 0), (0o664, 0o044), (0o604, 0)])
  func `A new file takes no access from a file of another user that it replaces`(
    mode: Int, most: Int
  ) async throws {
    let resource = FaultScript.Resource("/f.bin", seed: 3, length: 1000)
    try await DownloadFixture.with([resource]) { fixture in
      try fixture.put([1, 2, 3], as: "f.bin")
      try give("f.bin", of: fixture, mode: mode)
      let request = try fixture.request("/f.bin", as: "f.bin") { $0.ifExists = .overwrite }
      #expect(try await fixture.finish(request).result.state == .completed)
      let attributes = try FileManager.default.attributesOfItem(atPath: fixture.path("f.bin"))
      #expect(attributes[.ownerAccountID] as? Int == 0)
      #expect(attributes[.groupOwnerAccountID] as? Int != 65_534)
      // Another group gets what all others had, and those no more than the former group.
      #expect((attributes[.posixPermissions] as? Int).map { $0 & 0o077 & ~most } == 0)
      #expect((attributes[.posixPermissions] as? Int).map { ($0 >> 3) & 7 == $0 & 7 } == true)
    }
  }

  @Test func `A file that was changed since is kept, and the reason is reported`() async throws {
    let resource = FaultScript.Resource("/f.bin", seed: 3, length: 1000)
    try await DownloadFixture.with([resource]) { fixture in
      let request = try fixture.request("/f.bin")
      _ = try await fixture.finish(request)
      try fixture.put(Array("mine".utf8), as: "f.bin")
      let outcome = try await fixture.finish(request)
      let reasons = outcome.events.compactMap { kind -> String? in
        if case .target(_, let reason) = kind { reason } else { nil }
      }
      #expect(
        reasons == ["f.bin exists and is not an unchanged download from this address"])
      // The next time, the numbered file is accepted, without a message.
      let again = try await fixture.finish(request)
      #expect(
        !again.events.contains { if case .target(_, .some) = $0 { true } else { false } })
      #expect(try fixture.names() == ["f (1).bin", "f.bin"])
    }
  }

  @Test func `Files of addresses with different tokens do not replace each other`() async throws {
    let resource = FaultScript.Resource("/f.bin", seed: 3, length: 1000)
    try await DownloadFixture.with([resource]) { fixture in
      let manager = try TransferManager()
      for _ in 1...3 {
        // The fault server ignores queries, so each turn has its own version.
        fixture.server.update("/f.bin") {
          $0.seed += 1
          $0.entityTag = "\"tag-\($0.seed)\""
          $0.lastModified = nil
        }
        let added = try await manager.add(
          ["?token=a", "?token=b"].map { try fixture.request("/f.bin\($0)") })
        let paths = try await [added[0].result.path, added[1].result.path]
        #expect(paths == [fixture.path("f.bin"), fixture.path("f (1).bin")])
      }
      await manager.shutdown()
      #expect(try fixture.names() == ["f (1).bin", "f.bin"])
    }
  }

  @Test func `A file that came with another token is not replaced`() async throws {
    let resource = FaultScript.Resource("/f.bin", seed: 3, length: 1000)
    try await DownloadFixture.with([resource]) { fixture in
      let first = try await fixture.finish(try fixture.request("/f.bin?token=a"))
      #expect(first.result.path == fixture.path("f.bin"))
      fixture.server.update("/f.bin") { ($0.seed, $0.entityTag) = (4, "\"other\"") }
      let second = try await fixture.finish(try fixture.request("/f.bin?token=b"))
      #expect(second.result.path == fixture.path("f (1).bin"))
    }
  }

  @Test func `A new signature of the same address updates the file`() async throws {
    let resource = FaultScript.Resource("/f.bin", seed: 3, length: 1000)
    try await DownloadFixture.with([resource]) { fixture in
      for number in 1...3 {
        fixture.server.update("/f.bin") {
          $0.seed += 1
          $0.entityTag = "\"tag-\($0.seed)\""
          $0.lastModified = nil
        }
        let query = "?X-Amz-Credential=me&X-Amz-Date=\(number)&X-Amz-Signature=\(number)"
        let outcome = try await fixture.finish(try fixture.request("/f.bin\(query)"))
        #expect(outcome.result.path == fixture.path("f.bin"))
        #expect(outcome.result.fetched >= 1000)
      }
      #expect(try fixture.names() == ["f.bin"])
    }
  }

  @Test func `A date that was too recent to identify a version is not trusted later`() async throws
  {
    let resource = FaultScript.Resource("/f.bin", seed: 3, length: 1000).with {
      $0.entityTag = nil
      $0.lastModified = Int64(Date().timeIntervalSince1970)
    }
    try await DownloadFixture.with([resource]) { fixture in
      let request = try fixture.request("/f.bin")
      _ = try await fixture.finish(request)
      fixture.server.update("/f.bin") { $0.seed = 4 }
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: 4, length: 1000, outcome)
      #expect(try fixture.names() == ["f.bin"])
    }
  }

  @Test func `A different entity tag means another version, whatever the date`() async throws {
    let resource = FaultScript.Resource("/f.bin", seed: 3, length: 1000)
    try await DownloadFixture.with([resource]) { fixture in
      let request = try fixture.request("/f.bin")
      _ = try await fixture.finish(request)
      fixture.server.update("/f.bin") {
        $0.seed = 4
        $0.entityTag = "\"other\""
      }
      let outcome = try await fixture.finish(request)
      try fixture.expectWhole("f.bin", seed: 4, length: 1000, outcome)
    }
  }
}
