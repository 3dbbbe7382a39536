/// Where the bytes of unfinished members are.
enum SchemaV3 {
  static let statements = [
    """
    CREATE TABLE places (
      member INTEGER PRIMARY KEY REFERENCES members (seq) ON DELETE CASCADE,
      directory ANY NOT NULL,
      device INTEGER NOT NULL,
      boot TEXT NOT NULL,
      name ANY NOT NULL,
      part ANY NOT NULL,
      length INTEGER
    ) STRICT
    """
  ]
}
