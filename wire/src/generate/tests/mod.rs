mod crossing;
mod reading;
mod round_trip;
mod served;
mod streams;
mod writing;
