import HaulCore

/// Where the files of one `haul get` go on other servers. Finds two of them for one place.
struct RemoteTargets {
  /// `-o`; nil if each address has its own place.
  private let template: TargetTemplate?
  /// Nil if nothing goes to an S3 store.
  private let settings: S3Settings?
  /// The uploads so far, by their addresses.
  private var known: [ResourceURL: (upload: UploadRequest, listEntry: String?)] = [:]

  init(
    _ command: GetCommand, _ items: [GetItem], _ sources: CommandSources
  ) throws(UsageError) {
    let output = command.destination.output
    let isS3 = ([output] + items.map(\.out)).contains { $0.map(PutPlan.isS3) ?? false }
    guard isS3 || command.s3.isEmpty || items.contains(where: { $0.object != nil }) else {
      throw S3Options.misused
    }
    settings = isS3 ? try S3Settings(command.s3, sources) : nil
    guard let output else {
      template = nil
      return
    }
    guard PutPlan.isRemote(output) else {
      throw UsageError("-o names a file of this machine, but out in the list another server")
    }
    template = try TargetTemplate(output)
  }

  /// The upload of a source to its place.
  /// - Parameter number: of its address in the arguments, from 1.
  func upload(
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
  private func upload(
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

  private func object(
    _ source: DownloadRequest, _ place: String, _ below: UploadSources.Source, isNamed: Bool
  ) throws(UsageError) -> UploadRequest {
    guard let settings else { throw S3Options.misused }
    let (bucket, key) = PutPlan.s3Parts(place)
    let isCollection = key.isEmpty && place.hasByteSuffix("/") || key.hasByteSuffix("/")
    guard isCollection || !isNamed else { throw Self.notBelow }
    do throws(TransferError) {
      let object = try S3Object(
        bucket: bucket, key: isCollection ? key + below.names.joined(separator: "/") : key,
        region: settings.region, endpoint: settings.endpoint, addressing: settings.addressing)
      var upload = UploadRequest(from: source, to: object, credentials: settings.credentials)
      upload.keySource = settings.keySource
      return upload
    } catch {
      throw UsageError("\(place): \(error.message)")
    }
  }

  private static let notBelow = UsageError(
    "out is a name below -o, which then ends with '/'; or it names a whole place, such as "
      + "s3://bucket/key")

  /// Adds an upload.
  /// - Returns: a warning if the same one exists already, so that it is left out.
  /// - Throws: when another address has the same place.
  mutating func insert(
    _ upload: UploadRequest, of item: GetItem
  ) throws(UsageError) -> String? {
    guard upload.method.uploadProtocol.namesFile,
      let earlier = known.updateValue((upload, item.listEntry), forKey: upload.url)
    else { return nil }
    let start = item.listEntry.map { "\($0): " } ?? ""
    let end = earlier.listEntry.map { " (\($0))" } ?? ""
    if earlier.upload == upload {
      return "\(start)\(item.url.redacted) is given twice\(end) and is sent once"
    }
    let other = earlier.upload.download?.url.redacted ?? ""
    throw UsageError(
      "\(start)the target \(upload.url.redacted) also belongs to \(other)\(end); end -o with '/', "
        + "or name each file: {name}, {host}, {index}")
  }
}
