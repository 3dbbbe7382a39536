import HaulCore
import HaulKit
import HaulTesting
import NIOConcurrencyHelpers

/// Uploads, whose sources may change.
extension QueueWorld {
  /// One of so many worlds has uploads.
  static let uploadsOneIn = 3
  private static let sources = "/s"

  /// An upload in place of a download; nil for a download. It has its own generator, so that other
  /// worlds do not change.
  func upload(_ name: String) throws -> TransferRequest? {
    guard var random = uploads else { return nil }
    defer { uploads = random }
    guard random.oneIn(2) else { return nil }
    var resource = SimulatedTransport.Resource(content: SeededContent(seed: 0), length: 0)
    resource.isMissing = random.oneIn(12)
    servers[name] = resource
    plant(name, &random)
    let url = try ResourceURL("http://h\(random.below(3))/\(name)")
    var upload = UploadRequest("\(Self.sources)/\(name)", to: url)
    upload.method = random.oneIn(3) ? .put : .tus
    upload.retry.retries = random.below(3)
    return TransferRequest(.upload(upload))
  }

  /// Replaces the source of an upload.
  func changeSource() {
    guard var random = uploads else { return }
    defer { uploads = random }
    let names = ledger.withLockedValue { $0.listed.filter { $0.request.upload != nil }.map(\.name) }
    guard !names.isEmpty, random.oneIn(6) else { return }
    let name = names[random.below(names.count)]
    plant(name, &random)
    ledger.withLockedValue { $0.note("another source of \(name)") }
  }

  private func plant(_ name: String, _ random: inout SimulationRandom) {
    let content = SeededContent(seed: random.next())
    let bytes = content.bytes(at: 0, count: random.below(24 << 10))
    machine.plant(bytes, as: name, in: Self.sources)
    servers.uploads.withLockedValue { $0.versions[name, default: []].append(bytes) }
  }

  /// Checks that the server has a whole version of a source.
  func checkObject(of member: Ledger.Member) {
    let isWhole = servers.uploads.withLockedValue { uploads in
      uploads.objects[member.name].map { uploads.versions[member.name]?.contains($0) ?? false }
    }
    guard isWhole != true else { return }
    ledger.withLockedValue {
      $0.violate("\(member.name) is completed, and the server has not the file")
    }
  }
}
