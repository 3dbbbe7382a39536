import HaulCore

let storeTargets = [
  Target(name: "store-answers") { input in
    for steps in 0..<3 { giveAnswer(input.bytes, after: steps) }
    if let page = try? S3ListPage(input.bytes, below: "p/") {
      expect(page.keys.allSatisfy { $0?.hasBytePrefix("p/") ?? true }, "a key above the prefix")
      expect(page.next != "", "a list without an end")
    }
  }
]

/// Gives an answer of an S3 store to an upload that creates, lists, or completes its parts.
private func giveAnswer(_ body: [UInt8], after steps: Int) {
  let source = SourceIdentity(
    FileStatus(
      kind: .regular, device: 1, inode: 2, size: 33 << 20, owner: 0, mode: 0o644, links: 1,
      modified: 3))
  guard let endpoint = try? ResourceURL("https://h.example"),
    let object = try? S3Object(bucket: "b", key: "k", endpoint: endpoint)
  else { return }
  var machine = S3Machine(
    UploadStart(
      UploadRequest("/f", to: object, credentials: nil), source, isAttended: false,
      now: Instant()))
  var random = SystemRandomNumberGenerator()
  func handle(_ event: UploadEvent) -> [UploadCommand] {
    machine.handle(event, at: Instant(.seconds(1)), using: &random)
  }
  func answer(_ status: Int, _ body: [UInt8], part: Int = 0) -> UploadEvent {
    .answered(
      UploadAnswer(
        ResponseHead(status: status, headers: ["ETag": "t"], url: object.url), body: body,
        sent: 16 << 20, part: part, wallSeconds: 1_700_000_000))
  }
  let record = UploadRecord(
    address: "https://h.example/b/k?uploadId=u", source: source,
    s3: UploadRecord.S3(partSize: 16 << 20, mark: "m"))
  _ = handle(.start(steps == 0 ? nil : record))
  if steps == 2 {
    _ = handle(answer(200, Array("<ListPartsResult></ListPartsResult>".utf8)))
    let digests = Checksum(.md5, bytes: [UInt8](repeating: 0, count: 16)).map { [$0] } ?? []
    for part in 1...3 {
      _ = handle(.digested(part: part, .success(digests)))
      _ = handle(answer(200, [], part: part))
    }
    _ = handle(.sourceChecked(nil))
  }
  for status in [200, 400] {
    for command in handle(answer(status, body)) {
      switch command {
      case .storeRecord(let record):
        expect((try? ResourceURL(record.address)) != nil, "an address that cannot be read again")
        expect(
          !S3Machine.terminations(of: record, UploadRequest("/f", to: object.url)).isEmpty,
          "it is not deleted")
      case .digest(let range, let part, _):
        expect((1...3).contains(part), "part \(part)")
        expect(range.lowerBound >= 0 && range.upperBound <= source.size, "\(range)")
      default: break
      }
    }
  }
}
