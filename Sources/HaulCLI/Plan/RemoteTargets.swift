import HaulCore

/// Where the files of one `haul get` go on other servers.
struct RemoteTargets: Sendable {
  /// `-o`; nil if each address has its own place.
  private let template: TargetTemplate?
  /// What goes to S3 is there.
  private var store: CommandStore
  /// A place in a store, as it was written: most lines have the same.
  private var place: (text: String, bucket: String, key: String, isCollection: Bool)?

  /// - Parameter items: the first ones; all of them if `areAll`.
  init(
    _ command: GetCommand, _ items: [GetItem], areAll: Bool, _ sources: CommandSources
  ) throws(UsageError) {
    let output = command.destination.output
    let isS3 = ([output] + items.map(\.out)).contains { $0.map(PutPlan.isS3) ?? false }
    guard isS3 || command.s3.isEmpty || !areAll || items.contains(where: { $0.object != nil })
    else { throw S3Options.misused }
    store = CommandStore(command.s3, sources)
    if isS3 { try store.open() }
    guard let output else {
      template = nil
      return
    }
    guard PutPlan.isRemote(output) else {
      throw UsageError("-o names a file of this machine, but out in the list another server")
    }
    template = try TargetTemplate(output)
  }

  /// The columns of a list that `-o` names.
  var columns: Set<String> { template?.columns ?? [] }

  /// Whether something goes to an S3 store.
  var areS3: Bool { store.isUsed }

  var bucketsAreInHosts: Bool { store.settings?.addressing == .virtual }

  /// The upload of a source to its place.
  /// - Parameter number: of its address in the arguments, from 1.
  mutating func upload(
    _ source: DownloadRequest, of item: GetItem, number: Int
  ) throws(UsageError) -> UploadRequest {
    do throws(UsageError) {
      guard item.dir == nil else {
        throw UsageError("dir names a directory of this machine; use out")
      }
      if let out = item.out, PutPlan.isRemote(out) { return try upload(source, to: out, nil) }
      guard let template else {
        throw UsageError("give -o, or out with a place on another server, as other lines do")
      }
      return try upload(source, to: template.text(for: item, number: number), item.out)
    } catch {
      guard let entry = item.listEntry else { throw error }
      throw UsageError("\(entry): \(error.message)")
    }
  }

  /// - Parameter name: what the file is called below the place; nil for its own name.
  private mutating func upload(
    _ source: DownloadRequest, to place: String, _ name: String?
  ) throws(UsageError) -> UploadRequest {
    let names = (name ?? FileName(source.url).text).pathNames
    guard !names.contains(where: { ["", ".", ".."].contains($0) }) else {
      throw UsageError("out=\(name ?? ""): a part of the name is empty, '.' or '..'")
    }
    let below = UploadSources.Source(sent: .remote(source), names: names)
    if PutPlan.isS3(place) { return try object(source, place, below, isNamed: name != nil) }
    let scheme = UploadScheme(of: place)
    var url = try AddressArgument.url(scheme?.address ?? place)
    let method = scheme?.method ?? .resumable
    if method.uploadProtocol.namesFile, url.path.hasByteSuffix("/") {
      url = try below.address(in: url)
    } else if name != nil {
      throw Self.notBelow
    }
    var upload = UploadRequest(from: source, to: url)
    upload.method = method
    return upload
  }

  private mutating func object(
    _ source: DownloadRequest, _ text: String, _ below: UploadSources.Source, isNamed: Bool
  ) throws(UsageError) -> UploadRequest {
    if self.place?.text != text {
      let (bucket, key) = PutPlan.s3Parts(text)
      let isCollection = key.isEmpty && text.hasByteSuffix("/") || key.hasByteSuffix("/")
      place = (text, bucket, key, isCollection)
    }
    guard let place, place.isCollection || !isNamed else { throw Self.notBelow }
    let key = place.isCollection ? place.key + below.names.joined(separator: "/") : place.key
    let found = try store.object(place.bucket, key, at: text)
    var upload = UploadRequest(from: source, to: found.object, credentials: found.store.credentials)
    upload.keySource = found.store.keySource
    return upload
  }

  private static let notBelow = UsageError(
    "out is a name below -o, which then ends with '/'; or it names a whole place, such as "
      + "s3://bucket/key")

}

/// The places of a run. Finds two uploads for one place.
struct RemotePlaces {
  /// An earlier item, and its upload.
  typealias Earlier = (item: GetItem, upload: UploadRequest)

  private var known = FirstItems()

  /// Adds an upload.
  /// - Parameters:
  ///   - number: of its item, from 1.
  ///   - earlier: an earlier one, by its number.
  /// - Returns: a warning if the same one exists already, so that it is left out.
  /// - Throws: when another address has the same place.
  mutating func insert(
    _ upload: UploadRequest, of item: GetItem, number: Int,
    _ earlier: (Int) throws(UsageError) -> Earlier
  ) throws(UsageError) -> String? {
    guard upload.method.uploadProtocol.namesFile else { return nil }
    let same = try known.item(with: upload.url, orSet: number) { (number) throws(UsageError) in
      let other = try earlier(number)
      return other.upload.url == upload.url ? other : nil
    }
    guard let found = same else { return nil }
    let start = item.listEntry.map { "\($0): " } ?? ""
    let end = found.item.listEntry.map { " (\($0))" } ?? ""
    if found.upload == upload {
      return "\(start)\(item.url.redacted) is given twice\(end) and is sent once"
    }
    let other = found.upload.download?.url.redacted ?? ""
    throw UsageError(
      "\(start)the target \(upload.url.redacted) also belongs to \(other)\(end); end -o with '/', "
        + "or name each file: {path}, {name}, {host}, {index}")
  }
}
