import HaulCore

/// The targets of a run, as far as known before it starts. Finds two transfers for one file.
struct TargetSet: Sendable {
  /// An earlier item, and what it asks for.
  typealias Earlier = (item: GetItem, request: DownloadRequest)

  /// A further address for the path of another one.
  private struct Further: Hashable {
    let path: FilePath
    let url: ResourceURL
  }

  private var paths = FirstItems()
  private var furthers = FirstItems()
  /// Whether files have names that get a number, in the order in which they are added.
  private(set) var hasNumbered = false

  /// Adds an item. Two addresses with the same file name are two files if a number may be added; a
  /// repeated address is one file.
  /// - Parameters:
  ///   - number: of the item, from 1.
  ///   - earlier: an earlier one, by its number.
  /// - Returns: a warning if the same request exists already, so that it is left out.
  /// - Throws: when another item has the same target.
  mutating func insert(
    _ request: DownloadRequest, of item: GetItem, number: Int,
    _ earlier: (Int) throws(UsageError) -> Earlier
  ) throws(UsageError) -> String? {
    guard let (path, isExact) = Self.target(of: request) else { return nil }
    let key = FilePath(path)
    let found = try paths.item(with: key, orSet: number) { (number) throws(UsageError) in
      let first = try earlier(number)
      return Self.target(of: first.request).flatMap {
        FilePath($0.path) == key ? (first, $0.isExact) : nil
      }
    }
    guard let (first, isFirstExact) = found else { return nil }
    let start = item.listEntry.map { "\($0): " } ?? ""
    let mayBeNumbered = !isExact && !isFirstExact
    if mayBeNumbered, request.ifExists == .rename {
      hasNumbered = true
      return nil
    }
    if let same = try same(as: item, key, number: number, first, earlier) {
      let givenTwice =
        "\(start)\(item.url.redacted) is given twice\(Self.inParentheses(same.item.listEntry))"
      guard same.request != request else {
        return "\(givenTwice) and is downloaded once; use --if-exists rename to get two files"
      }
      throw UsageError(
        "\(givenTwice), for one file, \(path), with different options; leave one out, or give "
          + "--if-exists rename to have both")
    }
    guard mayBeNumbered, request.ifExists == .update else {
      let advice =
        mayBeNumbered
        ? "; --if-exists \(request.ifExists.rawValue) gives no number: use update or rename" : ""
      throw UsageError(
        "\(start)the target \(path) also belongs to another address, "
          + "\(first.item.url.redacted)\(Self.inParentheses(first.item.listEntry))\(advice)")
    }
    hasNumbered = true
    return nil
  }

  /// An earlier item with the same path and address; nil for the first one, which is kept.
  private mutating func same(
    as item: GetItem, _ path: FilePath, number: Int, _ first: Earlier,
    _ earlier: (Int) throws(UsageError) -> Earlier
  ) throws(UsageError) -> Earlier? {
    guard item.url != first.item.url else { return first }
    let key = Further(path: path, url: item.url)
    return try furthers.item(with: key, orSet: number) { (number) throws(UsageError) in
      let other = try earlier(number)
      let target = other.item.url == item.url ? Self.target(of: other.request) : nil
      return target.map { FilePath($0.path) == path } == true ? other : nil
    }
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
