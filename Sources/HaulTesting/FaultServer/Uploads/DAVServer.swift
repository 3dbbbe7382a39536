import HaulCore

/// A WebDAV server, as far as uploads need one (RFC 4918, sections 9.3 to 9.9).
struct DAVServer: UploadServer {
  private(set) var files: [String: [UInt8]] = [:]
  /// Each with a slash at its end.
  private var directories: Set<String>

  init(root: String) { directories = [root] }

  mutating func answer(to request: RequestRecord) -> ServiceAnswer {
    switch request.method {
    case "PUT": put(request)
    case "MKCOL": makeDirectory(request.path)
    case "MOVE": move(request)
    case "DELETE": ServiceAnswer(status: files.removeValue(forKey: request.path) == nil ? 404 : 204)
    case "HEAD", "GET": get(request.path)
    default: ServiceAnswer(status: 405)
    }
  }

  /// The directory of a file or of a directory, with its slash.
  private static func parent(of path: String) -> String {
    let name = path.hasSuffix("/") ? path.dropLast() : path[...]
    return String(name[...(name.lastIndex(of: "/") ?? name.startIndex)])
  }

  private mutating func put(_ request: RequestRecord) -> ServiceAnswer {
    guard directories.contains(Self.parent(of: request.path)) else {
      return ServiceAnswer(status: 409)
    }
    let isNew = files.updateValue(request.body, forKey: request.path) == nil
    return ServiceAnswer(status: isNew ? 201 : 204)
  }

  private mutating func makeDirectory(_ path: String) -> ServiceAnswer {
    let path = path.hasSuffix("/") ? path : path + "/"
    if directories.contains(path) { return ServiceAnswer(status: 405) }
    guard directories.contains(Self.parent(of: path)) else { return ServiceAnswer(status: 409) }
    directories.insert(path)
    return ServiceAnswer(status: 201)
  }

  private mutating func move(_ request: RequestRecord) -> ServiceAnswer {
    guard let destination = request.header("Destination").map(FaultServerState.path(of:)),
      directories.contains(Self.parent(of: destination))
    else { return ServiceAnswer(status: 409) }
    guard let content = files[request.path] else { return ServiceAnswer(status: 404) }
    let isThere = files[destination] != nil
    guard !isThere || request.header("Overwrite") != "F" else { return ServiceAnswer(status: 412) }
    files[request.path] = nil
    files[destination] = content
    return ServiceAnswer(status: isThere ? 204 : 201)
  }

  private func get(_ path: String) -> ServiceAnswer {
    if directories.contains(path) { return ServiceAnswer(status: 200) }
    return files[path].map { ServiceAnswer(status: 200, body: $0) } ?? ServiceAnswer(status: 404)
  }
}
