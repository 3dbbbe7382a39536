/// An array in chunks: it grows without copying, so that a million elements need no extra memory.
struct ChunkedArray<Element: Sendable>: Sendable {
  private static var size: Int { 4096 }

  private var chunks: ContiguousArray<ContiguousArray<Element>> = []
  private(set) var count = 0

  init() {}

  init(_ elements: some Sequence<Element>) {
    for element in elements { append(element) }
  }

  subscript(index: Int) -> Element {
    get { chunks[index / Self.size][index % Self.size] }
    _modify { yield &chunks[index / Self.size][index % Self.size] }
  }

  mutating func append(_ element: Element) {
    if count % Self.size == 0 {
      chunks.append([])
      // In a small list, the first chunk stays small.
      if chunks.count > 1 { chunks[chunks.count - 1].reserveCapacity(Self.size) }
    }
    chunks[chunks.count - 1].append(element)
    count += 1
  }

  mutating func removeLast() -> Element {
    let last = chunks[chunks.count - 1].removeLast()
    if chunks[chunks.count - 1].isEmpty { chunks.removeLast() }
    count -= 1
    return last
  }
}

extension ChunkedArray: RandomAccessCollection {
  typealias Indices = Range<Int>

  var startIndex: Int { 0 }
  var endIndex: Int { count }
}
