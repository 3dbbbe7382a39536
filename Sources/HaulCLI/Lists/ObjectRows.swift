import HaulCore

/// The objects below a prefix, as the rows of a list.
struct ObjectRows {
  /// Which objects are asked for.
  struct Place: Hashable, Sendable {
    let address: String
    let bucket: String
    let prefix: String

    /// - Parameter address: ends with `/`; the key is taken as it is, without decoding.
    init(_ address: String) {
      self.address = address
      (bucket, prefix) = PutPlan.s3Parts(address)
    }
  }

  /// Whether the names below the prefix are those of the files; otherwise a template names them.
  enum Naming: Hashable, Sendable { case files, keys, template }

  private let naming: Naming
  private(set) var count = 0
  /// Why objects have no row.
  private(set) var refusals: [String] = []
  /// Different keys may be one name.
  private var names: Set<ManifestLine.ID> = []

  init(_ naming: Naming) { self.naming = naming }

  /// The rows of a page, as JSON. What stands for a directory has none.
  mutating func rows(of page: S3ListPage, below place: Place) -> String {
    page.keys.map { key in
      guard let key else {
        refusals.append("\(place.address): a key is no UTF-8 text, or not below the prefix")
        return ""
      }
      guard !key.hasByteSuffix("/"), key.utf8.count > place.prefix.utf8.count else { return "" }
      let address = "\(PutPlan.s3Prefix)\(place.bucket)/\(key)"
      do throws(UsageError) {
        var row = ["url": address]
        row["out"] = try name(String(key.utf8.dropFirst(place.prefix.utf8.count)) ?? "")
        count += 1
        return (try? JSONLines.line(of: row)) ?? ""  // texts can be written
      } catch {
        refusals.append("\(address): \(error.message)")
        return ""
      }
    }.joined()
  }

  private mutating func name(_ rest: String) throws(UsageError) -> String? {
    guard !rest.pathNames.contains(where: { ["", ".", ".."].contains($0) }) else {
      throw UsageError("a part of its name is empty, '.' or '..'")
    }
    guard !rest.hasByte(0), !rest.hasByte(0x0A), !rest.hasByte(0x0D), rest != "-" else {
      throw UsageError("its name is '-', or has a NUL or a line break")
    }
    let name: String
    switch naming {
    case .template: return nil
    case .keys: name = rest
    case .files:
      guard let path = FileName.path(chosenByServer: rest) else {
        throw UsageError("its name cannot be that of a file")
      }
      name = path
    }
    guard names.insert(ManifestLine.ID(hashing: name)).inserted else {
      throw UsageError("another object has the name \(name) too")
    }
    return name
  }
}
