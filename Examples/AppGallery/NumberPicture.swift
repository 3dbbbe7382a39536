/// A picture that shows a number: five by five squares, the right ones like the left ones.
///
/// The 15 squares of the left three columns are the bits of the number and of a check, row by row.
/// So a program can tell from the pixels whose icon it sees.
struct NumberPicture {
  private static let (side, margin, square) = (48, 4, 8)
  private static let colors: [(red: UInt8, green: UInt8, blue: UInt8)] = [
    (38, 70, 83), (42, 130, 120), (180, 84, 56), (96, 60, 130), (40, 90, 160), (150, 50, 80),
    (70, 110, 50), (120, 90, 40),
  ]
  private let number: Int

  /// - Parameter number: from 1 to 1023; nil for others.
  init?(_ number: Int) {
    guard (1...1023).contains(number) else { return nil }
    self.number = number
  }

  private func isLit(row: Int, column: Int) -> Bool {
    let bits = number << 5 | (number * 7 % 31 + 1)
    return bits >> (14 - row * 3 - min(column, 4 - column)) & 1 == 1
  }

  private func isLit(x: Int, y: Int) -> Bool {
    let inside = Self.margin..<(Self.side - Self.margin)
    guard inside.contains(x), inside.contains(y) else { return false }
    return isLit(row: (y - Self.margin) / Self.square, column: (x - Self.margin) / Self.square)
  }

  /// A BMP file with 24 bits for each pixel.
  var bitmap: [UInt8] {
    let pixels = Self.side * Self.side * 3
    var bytes = Array("BM".utf8)
    func append(_ values: Int32...) {
      for value in values { withUnsafeBytes(of: value.littleEndian) { bytes += $0 } }
    }
    append(Int32(54 + pixels), 0, 54)
    // A negative height: the rows go from top to bottom. Then one plane of 24 bits.
    append(40, Int32(Self.side), Int32(-Self.side), 24 << 16 | 1, 0, Int32(pixels), 0, 0, 0, 0)
    let color = Self.colors[number % Self.colors.count]
    for y in 0..<Self.side {
      for x in 0..<Self.side {
        bytes += isLit(x: x, y: y) ? [255, 255, 255] : [color.blue, color.green, color.red]
      }
    }
    return bytes
  }
}
