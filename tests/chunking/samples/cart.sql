-- What customers want.
CREATE TABLE cart (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL
);

CREATE INDEX cart_owner ON cart (owner);

/* Only the open ones. */
CREATE VIEW open_cart AS
SELECT id FROM cart WHERE paid = 0;

INSERT INTO cart (owner) VALUES ('me');
