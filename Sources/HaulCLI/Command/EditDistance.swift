/// The similarity of words.
enum EditDistance {
  /// The number of letters to insert, delete or change to turn one word into the other.
  static func distance(_ one: String, _ other: String) -> Int {
    var row = Array(0...other.count)
    for (index, letter) in one.prefix(20).enumerated() {
      var next = [index + 1]
      for (column, counterpart) in other.enumerated() {
        next.append(
          min(row[column] + (letter == counterpart ? 0 : 1), row[column + 1] + 1, next[column] + 1))
      }
      row = next
    }
    return row[other.count]
  }
}
