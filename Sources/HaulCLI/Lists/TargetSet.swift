import HaulCore

/// The targets of a run, as far as known before it starts. Finds two transfers for one file.
struct TargetSet {
  private struct Target {
    let first: GetItem
    let isExact: Bool
    let request: DownloadRequest
    /// Further addresses for the same path, with their requests and origins.
    var others: [ResourceURL: (request: DownloadRequest, listEntry: String?)] = [:]

    func earlier(_ url: ResourceURL) -> (request: DownloadRequest, listEntry: String?)? {
      url == first.url ? (request, first.listEntry) : others[url]
    }
  }

  private var targets: [Target] = []
  /// The index of the target of each path.
  private var indices: [FilePath: Int] = [:]

  /// Adds an item. Two addresses with the same file name are two files if a number may be added; a
  /// repeated address is one file.
  /// - Returns: a warning if the same request exists already, so that it is left out.
  /// - Throws: when another item has the same target.
  mutating func insert(
    _ request: DownloadRequest, of item: GetItem
  ) throws(UsageError) -> String? {
    guard let (path, isExact) = Self.target(of: request) else { return nil }
    let key = FilePath(path)
    // One lookup, because the lookup of a path is most of the work, and few paths exist already.
    guard let index = indices.updateValue(targets.count, forKey: key) else {
      targets.append(Target(first: item, isExact: isExact, request: request))
      return nil
    }
    indices[key] = index
    let target = targets[index]
    let start = item.listEntry.map { "\($0): " } ?? ""
    let mayBeNumbered = !isExact && !target.isExact
    if mayBeNumbered, request.ifExists == .rename { return nil }
    if let earlier = target.earlier(item.url) {
      let earlierEntry = Self.inParentheses(earlier.listEntry)
      let givenTwice = "\(start)\(item.url.redacted) is given twice\(earlierEntry)"
      guard earlier.request != request else {
        return "\(givenTwice) and is downloaded once; use --if-exists rename to get two files"
      }
      throw UsageError(
        "\(givenTwice), for one file, \(path), with different options; leave one out, or give "
          + "--if-exists rename to have both")
    }
    guard mayBeNumbered, request.ifExists == .update else {
      throw UsageError(
        "\(start)the target \(path) also belongs to another address, "
          + "\(target.first.url.redacted)\(Self.inParentheses(target.first.listEntry))")
    }
    targets[index].others[item.url] = (request, item.listEntry)
    return nil
  }

  /// Nil if it is not a file, or if the server sends its name.
  private static func target(of request: DownloadRequest) -> (path: String, isExact: Bool)? {
    switch request.destination {
    case .stream: nil
    case .file(let path): (path, true)
    case .directory where request.usesSuggestedName: nil
    case .directory(let directory):
      (path(FileName(request.url).text, in: directory), false)
    }
  }

  /// Built in one step: a string that grows is copied.
  private static func path(_ name: String, in directory: String) -> String {
    guard directory != "." else { return name }
    var path = ""
    path.reserveCapacity(directory.utf8.count + 1 + name.utf8.count)
    path += directory
    path += "/"
    path += name
    return path
  }

  private static func inParentheses(_ listEntry: String?) -> String {
    listEntry.map { " (\($0))" } ?? ""
  }
}
