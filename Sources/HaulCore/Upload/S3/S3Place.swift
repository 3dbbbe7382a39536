/// Where the bucket of an object is: the store may say that it is not where it was asked for.
package struct S3Place: Hashable, Sendable {
  /// The address of the object, with the access key.
  let object: ResourceURL
  let region: String

  private init(_ object: ResourceURL, _ region: String) {
    (self.object, self.region) = (object, region)
  }

  /// The place that an answer names; nil if it names none, the same, or one of another store.
  init?(_ answer: UploadAnswer, from old: S3Messages) {
    let failure = S3Failure(answer)
    guard failure.isElsewhere else { return nil }
    let region = failure.region ?? old.region
    let object =
      failure.location(from: old.object) ?? Self.inRegion(region, old.object, from: old.region)
    guard object != old.object || region != old.region, S3Object.isRegion(region),
      Self.isOwn(object, of: old.request.url)
    else { return nil }
    self.init(object.taking(old.request.url.credentials), region)
  }

  /// Whether an address is of the same store, so that signed requests may go there.
  static func isOwn(_ url: ResourceURL, of given: ResourceURL) -> Bool {
    let (other, own) = (url.origin, given.origin)
    guard other.scheme.isByteEqual(own.scheme), other.port == own.port else { return false }
    if other.host.isByteEqual(own.host) { return true }
    guard IPAddress(own.host) == nil, IPAddress(other.host) == nil else { return false }
    if other.host.hasByteSuffix(".\(own.host)") { return true }
    let domain = AmazonDomain.of(store: own.host)
    return domain != nil && domain == AmazonDomain.of(store: other.host)
  }

  /// Whether the bucket is in the host's name, as stores that do not say it have it.
  static func hasBucketInHost(_ object: ResourceURL) -> Bool {
    let host = object.origin.host
    return S3Object.refusesPaths(host) || isAmazon(host) && !host.hasBytePrefix("s3")
  }

  /// The address of the bucket of an object.
  /// - Parameter isInHost: whether buckets are in the host's name at any host.
  package static func bucket(of object: ResourceURL, isInHost: Bool) -> String {
    let host = "\(object.origin.scheme)://\(object.origin.authority)"
    guard !isInHost, !hasBucketInHost(object) else { return host }
    return "\(host)/\(object.path.dropFirst().prefix(beforeAnyOf: "/"))"
  }

  /// The address of another path at the same host.
  static func address(_ path: String, beside object: ResourceURL) -> ResourceURL? {
    let origin = object.origin
    return (try? ResourceURL("\(origin.scheme)://\(origin.authority)\(path)"))?
      .taking(object.credentials)
  }

  /// Whether it is a host of Amazon S3, and not one of a customer.
  fileprivate static func isAmazon(_ host: String) -> Bool { AmazonDomain.of(store: host) != nil }

  /// The same object at the host of a region, if the host names one.
  private static func inRegion(
    _ region: String, _ object: ResourceURL, from old: String
  ) -> ResourceURL {
    guard isAmazon(object.origin.host) else { return object }
    let labels = object.origin.host.byteSplit(separator: ".").map { label in
      label.isByteEqual(old) ? region : String(label)
    }
    return object.withHost(labels.joined(separator: ".")) ?? object
  }
}

extension S3Failure {
  /// The address of the object that a redirect names, or its body.
  fileprivate func location(from object: ResourceURL) -> ResourceURL? {
    if let location = redirect, let target = try? object.named(by: location) {
      return target.withoutQuery
    }
    return endpoint.flatMap { host in object.withHost(host, path: object.path(at: host)) }
  }
}

extension ResourceURL {
  /// The path of the object at another host of the store. The bucket is the first label of the
  /// host's name, or else the first part of the path.
  fileprivate func path(at host: String) -> String {
    let own = origin.host
    guard !host.prefix(beforeAnyOf: ":").isByteEqual(own) else { return path }
    let bucket =
      S3Place.isAmazon(own)
      ? own.byteSplit(separator: ".").prefix { !$0.isByteEqual("s3") && !$0.hasBytePrefix("s3-") }
        .joined(separator: ".")
      : ""
    if !bucket.isEmpty { return host.hasBytePrefix("\(bucket).") ? path : "/\(bucket)\(path)" }
    let first = path.dropFirst().prefix(beforeAnyOf: "/")
    guard !first.isEmpty, host.hasBytePrefix("\(first).") else { return path }
    return String(path.dropFirst(first.unicodeScalars.count + 1))
  }

  fileprivate var withoutQuery: ResourceURL? {
    try? ResourceURL(String(absoluteString.prefix(beforeAnyOf: "?")))
  }

  /// The same scheme, port and path at another host.
  fileprivate func withHost(_ host: String, path: String? = nil) -> ResourceURL? {
    let isDefault = origin.port == (origin.scheme == "https" ? 443 : 80)
    let port = isDefault || host.hasByte(UInt8(ascii: ":")) ? "" : ":\(origin.port)"
    return try? ResourceURL("\(origin.scheme)://\(host)\(port)\(path ?? self.path)")
  }
}
