import HaulLibC

/// Arguments and variables, as system calls take them.
package enum CStrings {
  package typealias List = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

  /// Calls the closure with the texts, which end with a null pointer, and frees them after it.
  package static func with<Value, Failure: Error>(
    _ texts: [String], _ body: (List) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let list = List.allocate(capacity: texts.count + 1)
    for (index, text) in texts.enumerated() { list[index] = strdup(text) }
    list[texts.count] = nil
    defer {
      for index in texts.indices { free(list[index]) }
      list.deallocate()
    }
    return try body(list)
  }

  /// An environment.
  package static func with<Value, Failure: Error>(
    _ variables: [String: String], _ body: (List) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    try with(variables.map { "\($0.key)=\($0.value)" }, body)
  }
}
