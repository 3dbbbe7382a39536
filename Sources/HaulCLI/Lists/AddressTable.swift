/// What is known of each address: lists and manifests may have a million.
struct AddressTable {
  struct Address {
    fileprivate let key: UInt64
    /// How many files the manifests have as complete, and as failed.
    var complete: UInt32 = 0
    var failed: UInt32 = 0
    /// How many files the lists have.
    fileprivate(set) var files: UInt32 = 0

    fileprivate init(_ key: UInt64) { self.key = key }

    /// How many files of the lists no line of the manifests tells of.
    var missing: Int { max(0, Int(files) - Int(complete) - Int(failed)) }
    /// Which row made which file is not known.
    var isComplete: Bool { failed == 0 && complete >= files }
  }

  /// A row or a file of an address, by its hash.
  private struct Further: Hashable {
    let address: Int
    let hash: UInt64
  }

  private var numbers = HashedNumbers()
  private(set) var addresses: [Address] = []
  /// Hashes of the first row of each address, and of its file; none before the first row.
  private var firstRows: [UInt64] = []
  private var firstFiles: [UInt64] = []
  /// The rows and files of addresses that have several.
  private var rows: Set<Further> = []
  private var files: Set<Further> = []

  subscript(_ number: Int) -> Address {
    get { addresses[number] }
    set { addresses[number] = newValue }
  }

  /// The number of an address, from 0.
  mutating func number(of address: String) -> Int {
    let key = Self.hash { $0.combine(text: address) }
    let hash = UInt32(truncatingIfNeeded: key)
    let slot = numbers.slot(of: hash) { addresses[$0 - 1].key == key }
    if let number = numbers[slot] { return number - 1 }
    addresses.append(Address(key))
    numbers.set(addresses.count, of: hash, in: slot)
    return addresses.count - 1
  }

  /// Adds a row.
  /// - Returns: whether it is not as one before.
  mutating func insert(row: UInt64, of file: UInt64, at number: Int) -> Bool {
    guard addresses[number].files > 0 else {
      if number >= firstRows.count {
        let missing = repeatElement(UInt64(0), count: addresses.count - firstRows.count)
        firstRows += missing
        firstFiles += missing
      }
      (firstRows[number], firstFiles[number], addresses[number].files) = (row, file, 1)
      return true
    }
    guard firstRows[number] != row,
      rows.insert(Further(address: number, hash: row)).inserted
    else { return false }
    if firstFiles[number] != file,
      files.insert(Further(address: number, hash: file)).inserted
    {
      addresses[number].files += 1
    }
    return true
  }

  /// Of 64 bits, with the seed of this process.
  static func hash(_ combine: (inout Hasher) -> Void) -> UInt64 {
    var hasher = Hasher()
    combine(&hasher)
    return UInt64(bitPattern: Int64(hasher.finalize()))
  }
}

extension Hasher {
  /// By its bytes: two texts that are only equal as characters are two.
  mutating func combine(text: String) {
    var text = text
    combine(text.utf8.count)
    text.withUTF8 { combine(bytes: UnsafeRawBufferPointer($0)) }
  }
}
