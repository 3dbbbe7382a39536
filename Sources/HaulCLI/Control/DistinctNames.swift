import HaulControl
import HaulCore

/// Names for the rows of a table: files of one name have as many of their directories before it as
/// tell them apart.
package enum DistinctNames {
  /// A row: its name, and the path or the address of its file, if that is known.
  package typealias Row = (name: String, place: String?)

  /// The most directories before a name.
  private static let mostDirectories = 8

  package static func of(_ rows: [Row]) -> [String] {
    var names = rows.map(\.name)
    let equal = Dictionary(grouping: rows.indices) { Array(rows[$0].name.utf8) }
    for indices in equal.values where indices.count > 1 {
      for (index, name) in zip(indices, distinct(indices.map { rows[$0] })) { names[index] = name }
    }
    return names
  }

  /// The shortest texts of which most differ.
  private static func distinct(_ rows: [Row]) -> [String] {
    let parents: [[String]] = rows.map { row in row.place.map { directories($0) } ?? [] }
    var best = (texts: rows.map(\.name), different: 1)
    let deepest = parents.lazy.map(\.count).max() ?? 0
    for count in 0..<min(deepest, mostDirectories) where best.different < rows.count {
      let texts = zip(rows, parents).map { row, names in
        (names.suffix(count + 1) + [row.name]).joined(separator: "/")
      }
      let different = Set(texts.map { Array($0.utf8) }).count
      if different > best.different { best = (texts, different) }
    }
    return best.texts
  }

  /// The names before the last one, of a path or an address; without the scheme.
  private static func directories(_ place: String) -> [String] {
    let path = place.isAbsolutePath ? place : String(place.prefix(beforeAnyOf: "?#"))
    let names = path.pathNames.filter { !$0.isEmpty }
    return Array(names.dropFirst(path.isAbsolutePath ? 0 : 1).dropLast())
  }
}
